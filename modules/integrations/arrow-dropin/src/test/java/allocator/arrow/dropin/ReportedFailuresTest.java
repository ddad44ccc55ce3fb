package allocator.arrow.dropin;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.tuple;

import allocator.arrow.ArrowMemory;
import allocator.provider.support.budget.Budget;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.OutOfMemoryException;
import org.apache.arrow.memory.RootAllocator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What an unchanged program's operator sees of Arrow's memory: messages, the log and a recording. */
class ReportedFailuresTest {
    private static final long MIB = 1 << 20;

    private static final class Lines extends Handler {
        final List<String> lines = new ArrayList<>();

        @Override
        public void publish(LogRecord line) {
            lines.add(line.getLevel() + " " + line.getMessage());
        }

        @Override
        public void flush() {}

        @Override
        public void close() {}
    }

    private static BufferAllocator root(ArrowMemory memory) {
        return new RootAllocator(
                RootAllocator.configBuilder().allocationManagerFactory(memory).build());
    }

    @Test
    void aRequestBeyondTheArenaNamesTheLargestHoldersAndLogsAll() {
        final Logger logger = Logger.getLogger(ArrowMemory.class.getName());
        final Lines log = new Lines();
        logger.addHandler(log);
        try (ArrowMemory memory = ArrowMemory.builder()
                        .option("arena.max_mem", String.valueOf(16 * MIB))
                        .childBudgets(Budget.of("arrow", Budget.UNLIMITED))
                        .open();
                BufferAllocator root = root(memory)) {
            final List<AutoCloseable> open = new ArrayList<>();
            for (int i = 0; i < 4; i++) {
                final BufferAllocator scan = root.newChildAllocator("scan " + i, 0, Long.MAX_VALUE);
                open.add(scan.buffer(1024L << i));
                open.addFirst(scan);
            }
            assertThatThrownBy(() -> root.buffer(32 * MIB))
                    .isInstanceOf(OutOfMemoryException.class)
                    .hasMessageEndingWith("; held, the most first: ROOT/scan 3 8192 bytes, ROOT/scan 2 4096 bytes,"
                            + " ROOT/scan 1 2048 bytes and 1 more");
            assertThat(log.lines)
                    .singleElement()
                    .asString()
                    .startsWith("WARNING cannot allocate 33554432 bytes for ROOT; held, the most first: ROOT/scan 3")
                    .endsWith(", ROOT/scan 0 1024 bytes");
            for (final AutoCloseable one : open.reversed()) {
                one.close();
            }
        } catch (Exception e) {
            throw new AssertionError(e);
        } finally {
            logger.removeHandler(log);
        }
    }

    @Test
    void aRecordingHasTheBuffersAndFailuresOfEachArrowAllocator(@TempDir Path folder) throws Exception {
        final Path file = folder.resolve("arrow.jfr");
        try (ArrowMemory memory = ArrowMemory.builder()
                        .option("arena.max_mem", String.valueOf(16 * MIB))
                        .open();
                BufferAllocator root = root(memory);
                Recording recording = new Recording()) {
            recording.enable("allocator.Allocation");
            recording.enable("allocator.Free");
            recording.enable("allocator.Failure");
            recording.start();
            try (BufferAllocator scan = root.newChildAllocator("scan", 0, Long.MAX_VALUE)) {
                final ArrowBuf buffer = scan.buffer(1024);
                assertThatThrownBy(() -> scan.buffer(32 * MIB)).isInstanceOf(OutOfMemoryException.class);
                buffer.close();
            }
            recording.stop();
            recording.dump(file);
        }
        final List<RecordedEvent> events = RecordingFile.readAllEvents(file);
        assertThat(events)
                .extracting(event -> event.getEventType().getName(), event -> event.getString("owner"))
                .containsExactlyInAnyOrder(
                        tuple("allocator.Allocation", "scan"),
                        tuple("allocator.Failure", "scan"),
                        tuple("allocator.Free", "scan"));
    }
}
