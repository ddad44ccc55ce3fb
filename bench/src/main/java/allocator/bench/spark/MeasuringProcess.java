package allocator.bench.spark;

import allocator.bench.report.ProcessLog;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** A program that measures in a process of its own, and prints its figures. */
public final class MeasuringProcess {
    private MeasuringProcess() {}

    /**
     * Runs a program, and returns the lines of its standard output. It is ended if that takes too many minutes, or the
     * calling thread is interrupted.
     */
    public static List<String> run(ProcessBuilder program, String name, int longestMinutes)
            throws IOException, InterruptedException {
        final Path output = Files.createTempFile("measuring", ".txt");
        final Path log = Files.createTempFile("measuring", ".log");
        try {
            final Process process = program.redirectOutput(output.toFile())
                    .redirectError(log.toFile())
                    .start();
            final boolean hasEnded;
            try {
                hasEnded = process.waitFor(longestMinutes, TimeUnit.MINUTES);
            } finally {
                process.destroy(); // not forcibly: it may have to end processes of its own
            }
            process.waitFor();
            if (!hasEnded || process.exitValue() != 0) {
                throw new IOException(name + ": "
                        + (hasEnded
                                ? ProcessLog.cause(Files.readString(log))
                                : "not done after " + longestMinutes + " minutes"));
            }
            return Files.readAllLines(output);
        } finally {
            Files.delete(output);
            Files.delete(log);
        }
    }
}
