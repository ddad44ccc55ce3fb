package allocator.doctor;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What the process of a measurement prints. */
class MainTest {
    private static final String MODEL = TestModels.similarity().toString();

    @TempDir
    private Path folder;

    private static long sum(Map<String, Object> profile, String by) {
        return ((List<?>) profile.get(by))
                .stream()
                        .mapToLong(share -> (long) ((Map<?, ?>) share).get("bytes"))
                        .sum();
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '"', textBlock = """
            other=1x2   | --shape other=1x2: the model has no input 'other'; it has rows
            rows=4      | --shape rows=4: input 'rows' has 2 dimensions, n x 16; 1 are given
            rows=4x17   | --shape rows=4x17: dimension 2 of input 'rows' is 16 in the model; 17 is given
            rows=0x16   | --shape rows=0x16: '0' is no number from 1 to 999999999
            rows=Nx16   | --shape: 'N' is no number; allocator fit takes names
            """)
    void aShapeThatDoesNotFitIsWrongUsage(String shape, String message) {
        assertThat(Main.run("profile", MODEL, "shape." + shape))
                .containsEntry("error", message)
                .containsEntry("usage", true);
    }

    @Test
    void aFreeDimensionWithoutShapeIsNamed() {
        assertThat(Main.run("profile", MODEL))
                .containsEntry("error", "free dimension 'n' of input 'rows': add --shape rows=1x16")
                .containsEntry("usage", true);
    }

    @Test
    void aShapeBeyondTheMachineIsAnErrorAndNotTheEndOfTheProcess() {
        assertThat(Main.run("profile", MODEL, "shape.rows=999999999x16"))
                .containsEntry(
                        "error",
                        "input 'rows' of shape [999999999, 16] is larger than 2 GiB; give it a smaller --shape")
                .containsEntry("usage", true);
        assertThat(Main.run("profile", MODEL, "shape.rows=900000x16"))
                .containsEntry("usage", false)
                .hasEntrySatisfying(
                        "error",
                        error -> assertThat((String) error)
                                .contains("is smaller than the request", "3,240,000,000,000"));
    }

    @Test
    void aFitNeedsANameThatVaries() {
        assertThat(Main.run("fit", MODEL, "shape.rows=4x16", "limit=1000000"))
                .containsEntry("usage", true)
                .hasEntrySatisfying(
                        "error", error -> assertThat((String) error).startsWith("--shape: no dimension is named"));
    }

    @Test
    void aFileThatIsNoModelIsNamedAsOnnxRuntimeDoes() throws IOException {
        final Path file = Files.writeString(folder.resolve("no.onnx"), "no model");
        assertThat(Main.run("profile", file.toString()))
                .containsEntry("usage", false)
                .hasEntrySatisfying("error", error -> assertThat((String) error).contains("Protobuf parsing failed"));
    }

    @Test
    void theSharesSumUpToThePeakThatIsMeasured() {
        final Map<String, Object> profile = Main.run("profile", MODEL, "shape.rows=500x16");
        final long peak = (long) profile.get("peak");
        // The result, 500 x 500 numbers.
        assertThat(peak).isGreaterThanOrEqualTo(1_000_000);
        assertThat(List.of(sum(profile, "by_kind"), sum(profile, "by_layer"), sum(profile, "by_operator")))
                .containsOnly(peak);
        final Map<String, Object> measured =
                Main.run("measure", MODEL, "tensor.rows=" + ((Map<?, ?>) profile.get("inputs")).get("rows"), "burst=3");
        assertThat(measured).containsEntry("peak_in_use", peak);
        assertThat((long) measured.get("held")).isGreaterThanOrEqualTo(peak);
        assertThat((long) measured.get("burst_held")).isGreaterThan(9_000_000);
        assertThat((long) measured.get("shrunk_held")).isLessThan(peak + (2 << 20));
        assertThat((long) measured.get("peak_resident")).isPositive();
    }

    @Test
    void aModelWithoutMemoryPatternsIsMeasuredWithoutThem() throws IOException {
        final String bert = TestModels.bert(folder).toString();
        final List<String> inputs =
                List.of("tensor.attention_mask=INT64 4x128 batch", "tensor.input_ids=INT64 4x128 batch");
        final Map<String, Object> usual = Main.run("measure", bert, inputs.get(0), inputs.get(1));
        final Map<String, Object> without = Main.run("measure", bert, inputs.get(0), inputs.get(1), "no-patterns=true");
        assertThat((long) without.get("peak_in_use")).isLessThan((long) usual.get("peak_in_use"));
        assertThat(usual).doesNotContainKey("burst_held");
    }

    @Test
    void onnxRuntimesOwnArenaIsMeasuredByResidentMemory() {
        assertThat(Main.run("measure", MODEL, "tensor.rows=FLOAT 500x16 batch", "burst=4", "own=true"))
                .containsKeys("resident", "peak_resident", "burst_resident", "shrunk_resident")
                .doesNotContainKeys("held", "error");
    }
}
