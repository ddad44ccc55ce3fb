package allocator.bench.pairs;

import allocator.bench.subject.MallocAllocator;
import allocator.bench.subject.SubjectType;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** Starts JVMs that measure, each with the modules of this one and the options that its subject wants. */
public final class Launcher {
    private static final int LONGEST_MINUTES = 5;

    private final List<String> options;

    /** A JVM that could not measure; what it had written before is not lost. */
    static final class FailedException extends Exception {
        private static final long serialVersionUID = 1;

        FailedException(String message) {
            super(message);
        }
    }

    private Launcher(List<String> options) {
        this.options = options;
    }

    /** A launcher of JVMs with this one's modules. */
    static Launcher withOwnModules() {
        return new Launcher(ManagementFactory.getRuntimeMXBean().getInputArguments());
    }

    /**
     * Runs a class that measures.
     *
     * @param processors the beginning of the command, which binds it to processors; empty if it may run on all
     * @param library the native library of the subject
     * @param output where the class writes; emptied before
     * @param arguments further arguments of the class
     * @return the lines of the output
     * @throws FailedException if it failed; the lines are in the file
     */
    List<String> run(
            List<String> processors,
            Class<?> main,
            @Nullable SubjectType type,
            @Nullable Path library,
            Path output,
            List<String> arguments)
            throws IOException, InterruptedException, FailedException {
        final List<String> command = new ArrayList<>(processors);
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(options);
        command.addAll(main == Footprint.class ? Footprint.JVM_OPTIONS : List.of("-Xms1g", "-Xmx1g"));
        // Where others want the processors too, a compiler in the background may not be done when the warm-up is.
        command.addAll(List.of("-Xbatch", "-XX:MaxDirectMemorySize=16g"));
        if (type == SubjectType.ARROW) {
            command.add("--add-opens=java.base/java.nio=ALL-UNNAMED");
            command.add("--sun-misc-unsafe-memory-access=allow");
            command.add("-Dslf4j.internal.verbosity=ERROR");
        }
        if (library != null) {
            command.add("-D" + MallocAllocator.LIBRARY + "=" + library);
        }
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), main.getName(), output.toString()));
        command.addAll(arguments);

        Files.deleteIfExists(output);
        final Path log = logOf(output);
        final ProcessBuilder builder =
                new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(log.toFile());
        // jemalloc wants more thread-local memory than the C library keeps for libraries that are loaded late.
        builder.environment().merge("GLIBC_TUNABLES", "glibc.rtld.optional_static_tls=65536", (a, b) -> a + ":" + b);
        final Process process = builder.start();
        final boolean hasEnded;
        try {
            hasEnded = process.waitFor(LONGEST_MINUTES, TimeUnit.MINUTES);
        } finally {
            // Also if this thread is interrupted because another lane has failed.
            process.descendants().forEach(ProcessHandle::destroyForcibly);
            process.destroyForcibly();
        }
        // One that is still ending would disturb the next measurement.
        process.waitFor();
        if (!hasEnded || process.exitValue() != 0) {
            throw new FailedException(
                    hasEnded ? cause(Files.readString(log)) : "not done after " + LONGEST_MINUTES + " minutes");
        }
        return Files.readAllLines(output);
    }

    /** Where a JVM with that output says what goes wrong. */
    static Path logOf(Path output) {
        return output.resolveSibling(output.getFileName() + ".log");
    }

    /**
     * Finds in the log of a JVM why it ended.
     *
     * @param log what it printed
     * @return its last exception, or else its last line
     */
    public static String cause(String log) {
        final List<String> lines = log.lines().filter(line -> !line.isBlank()).toList();
        return lines.stream()
                .filter(line -> line.startsWith("Caused by: "))
                .reduce((first, second) -> second)
                .map(line -> line.substring("Caused by: ".length()))
                .or(() -> lines.stream()
                        .filter(line -> line.startsWith("Exception in thread"))
                        .findFirst())
                .or(() -> lines.stream().reduce((first, second) -> second))
                .orElse("it says nothing");
    }
}
