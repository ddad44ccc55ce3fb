package allocator.bench.planner;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.bench.Console;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class PlannerRunTest {
    @TempDir
    private Path folder;

    private int execute(Console console, String... more) throws IOException {
        Files.writeString(folder.resolve("X.10.csv"), "id,lower,upper,size\n0,0,2,4\n1,1,3,6\n");
        final String[] args = {
            "--inputs=" + folder, "--warm-up=0", "--rounds=2", "--results=" + folder, "--keep=kept", "--commit=abc"
        };
        final String[] all = Arrays.copyOf(args, args.length + more.length);
        System.arraycopy(more, 0, all, args.length, more.length);
        return PlannerRun.execute(console.out(), all);
    }

    @Test
    void printsAndKeepsATable() throws IOException {
        final Console console = new Console();
        assertThat(execute(console)).isZero();
        final String kept = Files.readString(folder.resolve("kept.md"));
        assertThat(kept).contains("- commit: abc", "| X | 2 | yes | 0 | 0.0").contains("| all |");
        assertThat(console.output()).isEqualTo(kept);
    }

    @Test
    void anInputThatDoesNotFitFails() throws IOException {
        Files.writeString(folder.resolve("Y.9.csv"), "id,lower,upper,size\n0,0,2,4\n1,1,3,6\n");
        final Console console = new Console();
        assertThat(execute(console)).isOne();
        assertThat(console.output()).contains("| Y | 2 | no |");
    }

    @Test
    void theRivalRunsBesideOurs() throws IOException {
        final Console console = new Console();
        assertThat(execute(console, "--minimalloc=/bin/true")).isZero();
        assertThat(console.output()).containsPattern("X \\| 2 \\| yes \\| 0 \\| [0-9.]+ \\| [0-9.]+ \\| [0-9]+");
    }

    @Test
    void wrongOptionsAreErrors() throws IOException {
        final Console console = new Console();
        assertThat(execute(console, "--rounds=0")).isEqualTo(2);
        assertThat(execute(console, "--minimalloc=/bin/false")).isEqualTo(2);
        assertThat(console.output()).doesNotContain("| X |");
    }
}
