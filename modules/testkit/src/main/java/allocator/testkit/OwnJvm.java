package allocator.testkit;

import java.io.File;
import java.io.IOException;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

/** Runs a program of a test in a JVM of its own. */
public final class OwnJvm {
    /** How a JVM runs that lives for seconds. */
    public static final List<String> QUICK = List.of("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:-UsePerfData");

    /** Longer than a program waits that says where a thread of its own hangs. */
    private static final int MOST_MINUTES = 3;

    private OwnJvm() {}

    /**
     * Runs a program, and returns what it printed.
     *
     * @param classPath a class of each jar or folder that the program needs, its own included
     * @param program has the method {@code main}
     * @param options of the JVM, beside {@link #QUICK}
     * @param arguments of the program
     * @throws AssertionError if it ends by an exception, or takes more than three minutes; with what it printed
     * @throws IOException if the program cannot be started
     * @throws InterruptedException if the thread is interrupted
     */
    public static String run(List<Class<?>> classPath, Class<?> program, List<String> options, String... arguments)
            throws IOException, InterruptedException {
        return run(path(classPath), program, options, arguments);
    }

    /**
     * Runs a program, and returns what it printed.
     *
     * @param classPath the class path
     * @param program has the method {@code main}
     * @param options of the JVM, beside {@link #QUICK}
     * @param arguments of the program
     * @throws AssertionError if it ends by an exception, or takes more than three minutes; with what it printed
     * @throws IOException if the program cannot be started
     * @throws InterruptedException if the thread is interrupted
     */
    public static String run(String classPath, Class<?> program, List<String> options, String... arguments)
            throws IOException, InterruptedException {
        final List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(QUICK);
        command.addAll(options);
        command.add("-cp");
        command.add(classPath);
        command.add(program.getName());
        command.addAll(List.of(arguments));
        return run(new ProcessBuilder(command), MOST_MINUTES);
    }

    /** Runs a process; returns what it printed, which the error has if it fails or takes longer. */
    static String run(ProcessBuilder builder, int mostMinutes) throws IOException, InterruptedException {
        final Path log = Files.createTempFile("program", ".log");
        try {
            final Process process = builder.redirectErrorStream(true)
                    .redirectOutput(log.toFile())
                    .start();
            final boolean hasEnded = process.waitFor(mostMinutes, TimeUnit.MINUTES);
            process.destroyForcibly();
            if (!hasEnded || process.exitValue() != 0) {
                throw new AssertionError((hasEnded ? "fails: " : "hangs: ") + Files.readString(log));
            }
            return Files.readString(log);
        } finally {
            Files.delete(log);
        }
    }

    /** Returns a path of the jars and folders of classes, with each of them once. */
    public static String path(List<Class<?>> types) {
        return types.stream().map(OwnJvm::home).distinct().collect(Collectors.joining(File.pathSeparator));
    }

    private static String home(Class<?> type) {
        try {
            return Path.of(type.getProtectionDomain()
                            .getCodeSource()
                            .getLocation()
                            .toURI())
                    .toString();
        } catch (URISyntaxException e) {
            throw new IllegalArgumentException(type.getName(), e);
        }
    }
}
