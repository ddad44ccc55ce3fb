package allocator.bench.arrow;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.bench.Console;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ArrowRunTest {
    @TempDir
    private Path folder;

    private final Console console = new Console();

    private int run(String arguments) {
        return ArrowRun.execute(console.out(), console.out(), (arguments + " --results=" + folder).split(" "));
    }

    @Test
    @Tag("thorough")
    void measuresAndKeepsAPage() throws Exception {
        assertThat(run("--managers=unsafe,netty,ours --rounds=1 --sample=1 --keep=mine"))
                .as(console.output())
                .isZero();
        assertThat(Files.readString(folder.resolve("mine.md")))
                .contains("| size | unsafe | netty | ours |")
                .contains("| 64 B | ")
                .contains("| 64 MiB | ")
                .contains("| all are live | ")
                .contains("- ours: below 64 KiB at most ")
                .doesNotContain("NaN");
    }

    @ParameterizedTest
    @CsvSource(delimiter = ';', textBlock = """
            --managers=malloc ; no manager is called 'malloc'
            --rounds=0        ; --rounds and --sample take numbers from 1
            --keep=a/b        ; --keep takes letters
            """, quoteCharacter = '"')
    void whatIsWrongIsSaid(String option, String message) {
        assertThat(run(option)).isEqualTo(2);
        assertThat(console.output()).contains(message);
    }
}
