package allocator.doctor;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Predictions, compared with runs of the sizes predicted. */
class FitTest {
    private static final double MOST_LOW = 0.01;
    private static final double MOST_HIGH = 0.02;

    @TempDir
    private Path folder;

    /** Runs a size; returns its peak. */
    private static long peak(String model, String... shapes) {
        final String[] args = new String[2 + shapes.length];
        args[0] = "profile";
        args[1] = model;
        System.arraycopy(shapes, 0, args, 2, shapes.length);
        final Map<String, Object> profile = Main.run(args);
        assertThat(profile).doesNotContainKey("error");
        return (long) profile.get("peak");
    }

    private static void assertNear(long predicted, long real) {
        assertThat((double) predicted / real).isBetween(1 - MOST_LOW, 1 + MOST_HIGH);
    }

    private static List<Map<String, Object>> list(Map<String, Object> fit, String name) {
        return ((List<?>) fit.get(name)).stream().map(FitTest::map).toList();
    }

    @SuppressWarnings("unchecked")
    private static Map<String, Object> map(Object value) {
        return (Map<String, Object>) value;
    }

    @Test
    void theLargestBatchOfABertIsAsPredictedAndTheNextOneIsTooLarge() throws IOException {
        final String bert = TestModels.bert(folder).toString();
        final long limit = 64 << 20;
        final Map<String, Object> fit =
                Main.run("fit", bert, "shape.input_ids=Nx128", "shape.attention_mask=Nx128", "limit=" + limit);
        assertThat(fit).containsEntry("known", true);
        final long largest = (long) fit.get("largest");
        final long mostRun = list(fit, "runs").stream()
                .mapToLong(run -> (long) run.get("n"))
                .max()
                .orElseThrow();
        assertThat(mostRun).isLessThan(largest / 2);
        for (final Map<String, Object> predicted : list(fit, "predictions")) {
            final String size = predicted.get("n") + "x128";
            final long real = peak(bert, "shape.input_ids=" + size, "shape.attention_mask=" + size);
            assertNear((long) predicted.get("peak"), real);
            if (predicted.get("n").equals(largest)) {
                assertThat(real).isBetween((long) (0.95 * limit), limit);
            }
        }
    }

    /** The square of the size overtakes what grows with it. */
    @Test
    void aPeakThatGrowsWithTheSquareIsPredictedFarFromTheRuns() {
        final String model = TestModels.similarity().toString();
        final Map<String, Object> fit = Main.run("fit", model, "shape.rows=Nx16", "limit=" + (8 << 20));
        assertThat(fit).containsEntry("known", true);
        final long largest = (long) fit.get("largest");
        assertThat((double) ((List<?>) fit.get("polynomial")).get(2)).isPositive();
        list(fit, "predictions")
                .forEach(predicted -> assertNear(
                        (long) predicted.get("peak"), peak(model, "shape.rows=" + predicted.get("n") + "x16")));
        assertThat(peak(model, "shape.rows=" + largest + "x16")).isLessThanOrEqualTo(8 << 20);
        assertThat(peak(model, "shape.rows=" + largest * 21 / 20 + "x16")).isGreaterThan(8 << 20);
    }

    /** ONNX Runtime lays out its block of tensors in another way at each length. */
    @Test
    @Tag("thorough")
    void whatFollowsNoPolynomialIsNotKnown() throws IOException {
        final String bert = TestModels.bert(folder).toString();
        final Map<String, Object> fit =
                Main.run("fit", bert, "shape.input_ids=4xN", "shape.attention_mask=4xN", "limit=" + (64 << 20));
        assertThat(fit).containsEntry("known", false);
        final long largest = (long) fit.get("largest");
        assertThat(peak(bert, "shape.input_ids=4x" + largest, "shape.attention_mask=4x" + largest))
                .isLessThanOrEqualTo(64 << 20);
    }

    @Test
    void aLimitBelowTheWeightsFitsNothing() throws IOException {
        final String bert = TestModels.bert(folder).toString();
        assertThat(Main.run("fit", bert, "shape.input_ids=Nx8", "shape.attention_mask=Nx8", "limit=1000000"))
                .containsEntry("known", true)
                .containsEntry("largest", 0L);
    }
}
