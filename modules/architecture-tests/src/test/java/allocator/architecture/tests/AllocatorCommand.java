package allocator.architecture.tests;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The {@code allocator} command in a process of its own, as the launcher starts it. */
final class AllocatorCommand {
    private static final Path DISTRIBUTION = ReactorModule.ROOT.resolve("modules/cli/target/distribution");

    /** The jars of the command, a folder. */
    static final Path JARS = DISTRIBUTION.resolve("lib");

    private AllocatorCommand() {}

    /** Returns the jars of the command one by one: only the launcher of the compiler expands wildcards. */
    static String classPath() throws IOException {
        try (Stream<Path> files = Files.list(JARS)) {
            return files.map(Path::toString).collect(Collectors.joining(System.getProperty("path.separator")));
        }
    }

    /** Runs the command on the providers of a folder, and returns what it printed. */
    static String run(int exitCode, Path dropped, List<String> arguments) throws IOException, InterruptedException {
        return run(exitCode, start(List.of(), dropped, List.of(), arguments));
    }

    /**
     * Starts the command on the providers of a folder.
     *
     * @param launcher what starts Java, before its name
     * @param options options of Java
     */
    static Process start(List<String> launcher, Path dropped, List<String> options, List<String> arguments)
            throws IOException {
        final List<String> command = new ArrayList<>(launcher);
        command.addAll(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "@" + DISTRIBUTION.resolve("java.args"),
                // What a provider fills is filled sooner.
                "-Xmx256m",
                // A process that lives for seconds.
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "--module-path",
                JARS.toString()));
        command.addAll(options);
        command.addAll(List.of("--module", "java.allocator.cli/allocator.cli.Main"));
        command.addAll(arguments);
        command.addAll(List.of("--providers-dir", dropped.toString()));
        return new ProcessBuilder(command).redirectErrorStream(true).start();
    }

    /** Waits for the command, and returns what it printed. */
    static String run(int exitCode, Process process) throws IOException, InterruptedException {
        final String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor(2, TimeUnit.MINUTES)).as(output).isTrue();
        assertThat(process.exitValue()).as(output).isEqualTo(exitCode);
        return output;
    }
}
