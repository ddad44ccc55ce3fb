package allocator.runtime;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.provider.support.StackReserve;
import allocator.spi.Allocator;
import allocator.testkit.FakeFactory;
import java.io.File;
import java.io.IOException;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.assertj.core.api.Assertions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class StackEndTest {
    @TempDir
    private Path folder;

    /** Compiled while it runs, with frames of many sizes. */
    @Test
    void nothingIsLostWhereverTheStackEnds() throws IOException, InterruptedException, URISyntaxException {
        run(StackEnd.class);
    }

    /** Interpreted, at each number of frames that are left. */
    @Test
    void eachCallIsWholeAtEachEnd() throws IOException, InterruptedException, URISyntaxException {
        run(EachStackEnd.class, "-Xint");
    }

    private void run(Class<?> program, String... flags) throws IOException, InterruptedException, URISyntaxException {
        final Path log = folder.resolve("log");
        final List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(List.of(flags));
        command.add("-cp");
        command.add(String.join(
                File.pathSeparator,
                "target/test-classes",
                home(StackEnd.class),
                home(Environment.class),
                home(Allocator.class),
                home(StackReserve.class),
                home(FakeFactory.class),
                home(Assertions.class)));
        command.add(program.getName());
        final Process process = new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(log.toFile())
                .start();
        final boolean hasEnded = process.waitFor(2, TimeUnit.MINUTES);
        process.destroyForcibly();
        assertThat(hasEnded).as("it hangs").isTrue();
        assertThat(process.exitValue()).as(Files.readString(log)).isZero();
    }

    private static String home(Class<?> type) throws URISyntaxException {
        return Path.of(type.getProtectionDomain().getCodeSource().getLocation().toURI())
                .toString();
    }
}
