package allocator.acceptance;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * A process that has ended.
 *
 * @param code its exit code, -1 if it was ended after two minutes
 * @param output what it printed on both streams
 */
record Started(int code, String output) {
    static final String JAVA =
            Path.of(System.getProperty("java.home"), "bin", "java").toString();

    /** Quick to start. */
    private static final List<String> QUICK = List.of("-XX:TieredStopAtLevel=1", "-XX:-UsePerfData");

    private static final int MOST_MINUTES = 2;

    /** Runs Java. */
    static Started java(List<String> options) throws IOException, InterruptedException {
        return run(javaCommand(options));
    }

    /** Returns the command that runs Java. */
    static List<String> javaCommand(List<String> options) {
        final List<String> command = new ArrayList<>(List.of(JAVA));
        command.addAll(QUICK);
        if (options.stream().noneMatch(option -> option.matches("-XX:\\+Use.*GC"))) {
            command.add("-XX:+UseSerialGC");
        }
        command.addAll(options);
        return command;
    }

    /** Runs a command. */
    static Started run(List<String> command) throws IOException, InterruptedException {
        final Path log = Files.createTempFile("acceptance", ".log");
        try {
            final Process process = new ProcessBuilder(command)
                    .redirectErrorStream(true)
                    .redirectOutput(log.toFile())
                    .start();
            final boolean hasEnded = process.waitFor(MOST_MINUTES, TimeUnit.MINUTES);
            process.destroyForcibly();
            return new Started(
                    hasEnded ? process.exitValue() : -1,
                    // Without a UTF-8 locale other bytes may be printed; they are replaced.
                    new String(Files.readAllBytes(log), StandardCharsets.UTF_8));
        } finally {
            Files.delete(log);
        }
    }
}
