package allocator.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.spi.DeviceException;
import allocator.spi.SyncNotification;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class FakeStreamTest {
    private final FakeStream stream = new FakeStream();
    private final FakeStream other = new FakeStream();

    @Test
    void theEndOfARunIsAFlushToo() {
        stream.flush();
        stream.onSessionRunEnd();
        assertThat(stream.flushes()).isEqualTo(2);
        assertThat(stream.runEnds()).isEqualTo(1);
    }

    @Test
    void handlesDifferUnlessSet() {
        assertThat(stream.handle()).isNotEqualTo(other.handle());
        assertThat(stream.handle(7).handle()).isEqualTo(7);
    }

    @Test
    void aStreamThatWaitsKnowsTheOther() {
        stream.notifyAndWait(other);
        assertThat(other.lastWaitedSyncId(stream)).isEqualTo(1);
        assertThat(stream.lastWaitedSyncId(other)).isZero();
        assertThat(other.waits()).isEqualTo(1);
        assertThat(stream.waits()).isZero();
    }

    @Test
    void theHookSeesEachOperation() {
        final List<String> operations = new ArrayList<>();
        stream.before(operations::add);
        try (SyncNotification notification = stream.createNotification()) {
            notification.activate();
            notification.waitOnDevice(other);
            notification.waitOnHost();
        }
        stream.onSessionRunEnd();
        stream.close();
        assertThat(operations)
                .containsExactly(
                        "createNotification", "record", "enqueueWait", "await", "onSessionRunEnd", "flush", "close");
    }

    @Test
    void aFailedFlushIsNotCounted() {
        stream.before(Faults.on("flush", new DeviceException("injected", null)));
        assertThatThrownBy(stream::flush).isInstanceOf(DeviceException.class);
        assertThat(stream.flushes()).isZero();
    }

    @Test
    void aClosedStreamHasEnded() {
        stream.close();
        stream.close();
        assertThat(stream.isClosed()).isTrue();
        assertThat(other.lastWaitedSyncId(stream)).isEqualTo(Long.MAX_VALUE);
        assertThatIllegalStateException().isThrownBy(stream::flush);
        assertThatIllegalStateException().isThrownBy(stream::createNotification);
    }

    @Test
    void aStreamWhoseCloseFailsIsClosedButHasNotEnded() {
        stream.before(Faults.on("close", new DeviceException("injected", null)));
        assertThatThrownBy(stream::close).isInstanceOf(DeviceException.class);
        assertThat(stream.isClosed()).isTrue();
        assertThat(other.lastWaitedSyncId(stream)).isZero();
    }
}
