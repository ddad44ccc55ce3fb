package allocator.bench.scale;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.bench.Console;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ScaleTest {
    @TempDir
    private Path folder;

    @Test
    void printsAndKeepsATable() throws IOException {
        final Console console = new Console();

        final int status = Scale.execute(
                console.out(),
                "--of=threads-arena",
                "--divide-by=1000",
                "--warm-up=0",
                "--results=" + folder,
                "--keep=kept",
                "--commit=abc");
        assertThat(status).isZero();
        final String kept = Files.readString(folder.resolve("kept.md"));
        assertThat(kept).contains("- commit: abc", "| threads-arena | 1 | 10 | 100 | power |", "Java heap: ");
        assertThat(console.output()).isEqualTo(kept);
    }

    @Test
    void wrongOptionsAreErrors() {
        final Console console = new Console();
        assertThat(Scale.execute(console.out(), "--of=nosuch")).isEqualTo(2);
        assertThat(Scale.execute(console.out(), "--divide-by=0")).isEqualTo(2);
        assertThat(Scale.execute(console.out(), "--keep=../x")).isEqualTo(2);
        assertThat(console.output()).isEmpty();
    }
}
