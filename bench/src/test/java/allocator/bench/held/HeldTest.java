package allocator.bench.held;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.bench.Console;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class HeldTest {
    @TempDir
    private Path folder;

    private final Console console = new Console();

    private int held(String arguments) {
        return Held.execute(console.out(), console.out(), (arguments + " --results=" + folder).split(" "));
    }

    @Test
    void showsAndDrawsWhatIsHeldBesideWhatLives() throws IOException {
        assertThat(held("--traces=resnet --subjects=arena,arena-slabs,arena-compact --keep=mine"))
                .as(console.output())
                .isZero();

        assertThat(console.output().lines())
                .contains("| resnet | arena | 299.1 | 511.0 | 1.708 |")
                .anyMatch(line ->
                        line.matches("\\| resnet \\| arena-compact \\| 299\\.1 \\| 3\\d\\d\\.\\d \\| 1\\.\\d+ \\|"));
        assertThat(Files.readString(folder.resolve("mine.svg"))).contains("<svg", "</svg>");
    }

    /** Subjects that the run has not measured are left out. */
    @Test
    void drawsWhatAGpuHeld() throws IOException {
        Files.writeString(folder.resolve("gpu.csv"), """
                cuda-arena,bert,1,peak_held_bytes,200
                cuda-arena,bert,1,peak_requested_bytes,100
                PyTorch,bert,1,peak_held_bytes,130
                cuda-arena compact,frcnn,1,peak_held_bytes,104
                cuda-arena compact,frcnn,1,peak_requested_bytes,100
                """);
        assertThat(held("--gpu=gpu --keep=held")).as(console.output()).isZero();

        assertThat(folder.resolve("held.svg")).isNotEmptyFile();
    }

    @ParameterizedTest
    @CsvSource(delimiter = ';', textBlock = """
                    --traces=nothing       ; no bundled trace is called 'nothing'
                    --subjects=nothing     ; no subject is called 'nothing'
                    --gpu=nothing          ; no such file
                    --keep=a/b             ; --keep takes letters
                    """)
    void whatIsWrongIsSaid(String option, String message) {
        assertThat(held(option)).isEqualTo(2);
        assertThat(console.output()).contains(message);
    }
}
