package allocator.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** {@code doctor} and {@code fit} where no model is run; runs are in the module java.allocator.doctor. */
class ModelCommandTest {
    private final String home = System.getProperty("user.home");

    @TempDir
    private Path folder;

    private String model = "";

    @BeforeEach
    void useAnEmptyHome() throws IOException {
        model = Files.writeString(folder.resolve("model.onnx"), "a model").toString();
        System.setProperty("user.home", folder.toString());
    }

    @AfterEach
    void restoreHome() {
        System.setProperty("user.home", home);
    }

    @Test
    void withoutOnnxRuntimeOneLineSaysHowToAddIt() {
        final Outcome outcome = Outcome.of("doctor", model);
        assertThat(outcome.exitCode()).isEqualTo(1);
        assertThat(outcome.err())
                .startsWith(
                        "allocator: ONNX Runtime's jar is not found: download com.microsoft.onnxruntime:onnxruntime")
                .contains("--onnxruntime JAR", "ALLOCATOR_ONNXRUNTIME")
                .hasLineCount(1);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            doctor MODEL.no             | MODEL.no: no such file
            doctor MODEL --onnxruntime no.jar | --onnxruntime no.jar: no such file
            doctor MODEL --onnxruntime MODEL | --onnxruntime MODEL: is not the jar of ONNX Runtime
            doctor MODEL --burst 0      | --burst 0: is less than 1
            doctor MODEL --seconds -1   | --seconds -1.0: is not from 0 to 3600
            doctor MODEL --gpu -1       | --gpu -1: is less than 0
            doctor MODEL --json MODEL   | --json MODEL: is the file that is read
            fit MODEL                   | Missing required option: '--limit=BYTES'
            """)
    void wrongUsageIsOneLine(String arguments, String message) {
        final Outcome outcome = Outcome.of(arguments.replace("MODEL", model).split(" "));
        assertThat(outcome.err())
                .startsWith("allocator: " + message.replace("MODEL", model))
                .hasLineCount(1);
        assertThat(outcome.exitCode()).isEqualTo(2);
    }

    /** A jar that is none: the process ends without a result. */
    @Test
    void aProcessThatCannotStartIsReported() throws IOException {
        final Path repository =
                Files.createDirectories(folder.resolve(".m2/repository/com/microsoft/onnxruntime/onnxruntime/1.10.0"));
        Files.writeString(repository.resolve("onnxruntime-1.10.0.jar"), "no jar");
        final Path older = Files.createDirectories(repository.resolveSibling("1.9.0"));
        Files.writeString(older.resolve("onnxruntime-1.9.0.jar"), "no jar");
        final Outcome outcome = Outcome.of("fit", model, "--limit", "1m", "--shape", "x=N");
        assertThat(outcome.exitCode()).isEqualTo(1);
        assertThat(outcome.err())
                .startsWith("allocator: " + model + ": the process that runs it ended with exit code 1: ")
                .contains("onnxruntime-1.10.0.jar")
                .hasLineCount(1);
    }

    @ParameterizedTest
    @CsvSource({"x, is not NAME=DIMS", "=3, is not NAME=DIMS"})
    void aShapeHasANameAndDimensions(String shape, String message) throws IOException {
        final Path jar = Files.writeString(folder.resolve("some.jar"), "no jar");
        final Outcome outcome = Outcome.of("doctor", model, "--onnxruntime", jar.toString(), "--shape", shape);
        assertThat(outcome.err())
                .startsWith("allocator: --shape " + shape + ": " + message)
                .hasLineCount(1);
        assertThat(outcome.exitCode()).isEqualTo(2);
    }
}
