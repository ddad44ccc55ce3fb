package allocator.bench.planner;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** MiniMalloc's program, which plans one file and ends. */
final class MiniMalloc {
    /** The fields of Linux' {@code /proc/self/stat}, from the state on, that count ended children's ticks. */
    private static final int CHILD_USER_TICKS = 13;

    private static final double TICKS_PER_SECOND = 100;

    private final Path binary;

    MiniMalloc(Path binary) {
        this.binary = binary;
    }

    /** Plans a file; returns the processor seconds, in hundredths, of the whole process. */
    double seconds(Path input, long capacity) throws IOException {
        final Path output = Files.createTempFile("minimalloc", ".csv");
        try {
            final double before = childSeconds();
            final Process process = new ProcessBuilder(
                            binary.toString(), "--capacity=" + capacity, "--input=" + input, "--output=" + output)
                    .redirectErrorStream(true)
                    .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                    .start();
            final int status = process.waitFor();
            if (status != 0) {
                throw new IOException(binary + " ended with status " + status + " on " + input);
            }
            return childSeconds() - before;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("interrupted", e);
        } finally {
            Files.deleteIfExists(output);
        }
    }

    private static double childSeconds() throws IOException {
        final String stat = Files.readString(Path.of("/proc/self/stat"));
        final String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ", -1);
        return (Long.parseLong(fields[CHILD_USER_TICKS]) + Long.parseLong(fields[CHILD_USER_TICKS + 1]))
                / TICKS_PER_SECOND;
    }
}
