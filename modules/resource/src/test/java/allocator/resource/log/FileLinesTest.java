package allocator.resource.log;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

class FileLinesTest {
    private final Disk disk = new Disk();

    /** A file in memory. While it is full, a write stores a few bytes and throws. */
    private static final class Disk implements FileLines.Target {
        private byte[] content = new byte[0];
        private @Nullable Throwable full;
        private boolean canTruncate = true;
        private int writes;
        private int closes;

        @Override
        public void write(byte[] from, int length, long position) throws IOException {
            writes++;
            final Throwable failure = full;
            final int stored = failure == null ? length : Math.min(length, 5);
            content = Arrays.copyOf(content, (int) Math.max(content.length, position + stored));
            System.arraycopy(from, 0, content, (int) position, stored);
            if (failure != null) {
                throwAny(failure);
            }
        }

        @Override
        public void truncate(long size) throws IOException {
            if (!canTruncate) {
                throw new IOException("planted");
            }
            content = Arrays.copyOf(content, (int) size);
        }

        @Override
        public void close() {
            closes++;
        }

        String text() {
            return new String(content, StandardCharsets.US_ASCII);
        }
    }

    @SuppressWarnings("unchecked")
    private static <T extends Throwable> void throwAny(Throwable failure) throws T {
        throw (T) failure;
    }

    static List<Throwable> failures() {
        return List.of(
                new IOException("planted"),
                new IllegalStateException("planted"),
                new OutOfMemoryError("planted"),
                new StackOverflowError("planted"));
    }

    @Nested
    class Lines {
        private final FileLines lines = new FileLines(disk);

        @Test
        void areWrittenManyAtOnce() throws IOException {
            for (int i = 0; i < 10_000; i++) {
                lines.write("line " + i + "\n");
            }
            lines.close();
            assertThat(disk.writes).isLessThanOrEqualTo(2);
            assertThat(disk.text())
                    .isEqualTo(IntStream.range(0, 10_000)
                            .mapToObj(i -> "line " + i + '\n')
                            .collect(Collectors.joining()));
        }

        @Test
        void areAsLongAsTheBufferAtMost() throws IOException {
            lines.write("x".repeat(FileLines.CAPACITY - 1) + "\n");
            assertThatThrownBy(() -> lines.write("x".repeat(FileLines.CAPACITY) + "\n"))
                    .isInstanceOf(IOException.class)
                    .hasMessageContaining("too long");
            lines.write("y\n");
            lines.close();
            assertThat(disk.text()).hasSize(FileLines.CAPACITY + 2).endsWith("x\ny\n");
        }

        @ParameterizedTest
        @ValueSource(booleans = {true, false})
        void areWholeAfterAWriteThatFailedHalfway(boolean canTruncate) throws IOException {
            lines.write("first line\n");
            lines.flush();
            lines.write("second line\n");
            disk.full = new IOException("planted");
            disk.canTruncate = canTruncate;
            assertThatThrownBy(lines::flush).isSameAs(disk.full);
            assertThat(disk.text()).isEqualTo(canTruncate ? "first line\n" : "first line\nsecon");
            disk.full = null;
            lines.write("third line\n");
            lines.flush();
            assertThat(disk.text()).isEqualTo("first line\nsecond line\nthird line\n");
        }

        @Test
        void stayForAnotherClose() throws IOException {
            lines.write("a line\n");
            disk.full = new IOException("planted");
            assertThatThrownBy(lines::close).isSameAs(disk.full);
            assertThat(disk.closes).isZero();
            disk.full = null;
            lines.close();
            assertThat(disk.text()).isEqualTo("a line\n");
            assertThat(disk.closes).isOne();
            assertThatThrownBy(() -> lines.write("late\n")).hasMessageContaining("closed");
            assertThatThrownBy(lines::flush).hasMessageContaining("closed");
        }
    }

    /** What a log makes of it. */
    @Nested
    class Logs {
        private static final String NUMBER = "1234567";

        private final TraceLog log = new TraceLog(new FileLines(disk));

        private void runBlocks(int count) {
            for (int i = 0; i < count; i++) {
                log.allocated(0x1000, Long.parseLong(NUMBER), null);
                log.freed(0x1000, Long.parseLong(NUMBER), null);
            }
        }

        /**
         * Checks that each line is whole and each block freed after its allocation; returns how many lines there are.
         */
        private long checkedLines() {
            long live = -1;
            long count = 0;
            for (String line : disk.text().lines().skip(1).toList()) {
                assertThat(line).matches("[af],\\d+," + NUMBER + ",0");
                final long id = Long.parseLong(line.split(",", -1)[1]);
                if (line.startsWith("a")) {
                    live = id;
                } else {
                    assertThat(id).isEqualTo(live);
                }
                count++;
            }
            return count;
        }

        @ParameterizedTest
        @MethodSource("allocator.resource.log.FileLinesTest#failures")
        void aLogLosesNothingInAShortFailure(Throwable failure) {
            runBlocks(2000);
            disk.full = failure;
            assertThatThrownBy(log::flush)
                    .satisfies(e -> assertThat(Arrays.asList(e, e.getCause())).contains(failure));
            runBlocks(10);
            disk.full = null;
            runBlocks(2000);
            log.close();
            assertThat(log.droppedRecords()).isZero();
            assertThat(checkedLines()).isEqualTo(2 * 4010);
        }

        @ParameterizedTest
        @MethodSource("allocator.resource.log.FileLinesTest#failures")
        void aLogCountsWhatItDropsInALongFailureAndCanBeReplayed(Throwable failure) {
            runBlocks(2000);
            disk.full = failure;
            runBlocks(20_000);
            assertThat(log.droppedRecords()).isPositive();
            disk.full = null;
            runBlocks(2000);
            log.close();
            assertThat(checkedLines()).isEqualTo(2 * 24_000 - log.droppedRecords());
        }

        @Test
        void aClosedLogDropsLines() {
            log.close();
            runBlocks(1);
            assertThat(log.droppedRecords()).isEqualTo(2);
            assertThatExceptionOfType(UncheckedIOException.class).isThrownBy(log::flush);
            log.close();
            assertThat(disk.text()).isEqualTo("op,id,bytes,stream\n");
        }
    }
}
