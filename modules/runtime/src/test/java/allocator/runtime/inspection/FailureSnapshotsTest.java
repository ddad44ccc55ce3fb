package allocator.runtime.inspection;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.spi.AllocatorType;
import allocator.spi.DeviceType;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryLocation;
import allocator.spi.MemoryType;
import allocator.spi.OutOfMemoryException;
import allocator.spi.OutOfMemoryException.Shortage;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class FailureSnapshotsTest {
    private static final MemoryInfo CPU = new MemoryInfo(
            "Cpu", new MemoryLocation(DeviceType.CPU, 0, 0, MemoryType.DEFAULT), 64, AllocatorType.DEVICE);

    /** A full disk costs a failing request neither a snapshot nor a line of the log, once it is known. */
    @Test
    void whereWritingFailsRequestsDoNotTryAtOnceAgain(@TempDir Path folder) {
        final AtomicInteger taken = new AtomicInteger();
        final FailureSnapshots snapshots = new FailureSnapshots(folder, Frames.OF_RUNTIME, failure -> {
            taken.incrementAndGet();
            throw new IllegalStateException("No space left on device");
        });
        try (Warnings warnings = new Warnings()) {
            for (int i = 0; i < 100; i++) {
                snapshots.exhausted(
                        new OutOfMemoryException("none left", Shortage.ofDevice(CPU, 5000, 12)), "bert", "");
            }
            assertThat(taken).hasValue(1);
            assertThat(warnings.texts())
                    .singleElement()
                    .asString()
                    .startsWith("writing a snapshot into " + folder + " failed: ")
                    .endsWith("No space left on device; it is tried again after 1 s at the earliest");
        }
    }
}
