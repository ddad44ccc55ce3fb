package allocator.bench.planner;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.bench.Console;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class PlanReplayTest {
    @TempDir
    private Path folder;

    @Test
    void printsAndKeepsATable() throws IOException {
        final Console console = new Console();
        assertThat(PlanReplay.execute(
                        console.out(),
                        "resnet",
                        "--events=1",
                        "--seconds=1",
                        "--rounds=1",
                        "--results=" + folder,
                        "--keep=kept",
                        "--commit=abc"))
                .isZero();
        final String kept = Files.readString(folder.resolve("kept.md"));
        assertThat(kept).contains("- commit: abc", "| resnet | 3,966 | ").contains(" | 0 | 0 |\n");
        assertThat(console.output()).isEqualTo(kept);
    }
}
