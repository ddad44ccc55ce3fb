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
import java.util.concurrent.TimeUnit;
import org.assertj.core.api.Assertions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class StackEndTest {
    @TempDir
    private Path folder;

    @Test
    void nothingIsLostWhereverTheStackEnds() throws IOException, InterruptedException, URISyntaxException {
        final Path log = folder.resolve("log");
        final Process process = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-cp",
                        String.join(
                                File.pathSeparator,
                                "target/test-classes",
                                home(StackEnd.class),
                                home(Environment.class),
                                home(Allocator.class),
                                home(StackReserve.class),
                                home(FakeFactory.class),
                                home(Assertions.class)),
                        StackEnd.class.getName())
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
