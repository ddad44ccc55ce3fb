package allocator.arena;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.provider.support.Limit;
import allocator.spi.Allocator;
import allocator.testkit.FakeDevice;
import java.io.File;
import java.io.IOException;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Runs a program of these tests in a JVM of its own. */
final class OwnJvm {
    private OwnJvm() {}

    /** Runs a program, which fails by an exception. */
    static void run(Class<?> program, List<String> options, String... arguments)
            throws IOException, InterruptedException, URISyntaxException {
        final Path log = Files.createTempFile("program", ".log");
        final List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(options);
        command.add("-cp");
        command.add(String.join(
                File.pathSeparator,
                home(program),
                home(BfcArena.class),
                home(Allocator.class),
                home(Limit.class),
                home(FakeDevice.class)));
        command.add(program.getName());
        command.addAll(List.of(arguments));
        try {
            final Process process = new ProcessBuilder(command)
                    .redirectErrorStream(true)
                    .redirectOutput(log.toFile())
                    .start();
            final boolean ended = process.waitFor(2, TimeUnit.MINUTES);
            process.destroyForcibly();
            assertThat(ended).as(Files.readString(log)).isTrue();
            assertThat(process.exitValue()).as(Files.readString(log)).isZero();
        } finally {
            Files.delete(log);
        }
    }

    private static String home(Class<?> type) throws URISyntaxException {
        return Path.of(type.getProtectionDomain().getCodeSource().getLocation().toURI())
                .toString();
    }
}
