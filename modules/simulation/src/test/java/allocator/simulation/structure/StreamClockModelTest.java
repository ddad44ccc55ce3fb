package allocator.simulation.structure;

import allocator.spi.SyncNotification;
import allocator.testkit.FakeDevice;
import allocator.testkit.FakeStream;
import org.jetbrains.lincheck.datastructures.IntGen;
import org.jetbrains.lincheck.datastructures.Operation;
import org.jetbrains.lincheck.datastructures.Param;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Param(name = "stream", gen = IntGen.class, conf = "0:2")
@Tag("thorough")
public class StreamClockModelTest {
    private final FakeStream[] streams = {
        new FakeStream(FakeDevice.INFO), new FakeStream(FakeDevice.INFO), new FakeStream(FakeDevice.INFO)
    };
    private final SyncNotification[] latest = new SyncNotification[streams.length];

    @Operation
    public void activate(@Param(name = "stream") int producer) {
        synchronized (latest) {
            latest[producer] = streams[producer].createNotification();
            latest[producer].activate();
        }
    }

    @Operation
    public void await(@Param(name = "stream") int producer, @Param(name = "stream") int consumer) {
        final SyncNotification notification;
        synchronized (latest) {
            notification = latest[producer];
        }
        if (notification != null) {
            notification.waitOnDevice(streams[consumer]);
        }
    }

    @Operation
    public long lastWaited(@Param(name = "stream") int producer, @Param(name = "stream") int consumer) {
        return streams[consumer].lastWaitedSyncId(streams[producer]);
    }

    @Test
    void noWaitIsForgotten() {
        ModelCheck.check(StreamClockModelTest.class);
    }
}
