package allocator.spark;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ai.onnxruntime.OnnxTensor;
import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import allocator.spark.Inference.Inputs;
import allocator.spi.OutOfMemoryException;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.apache.spark.api.java.JavaSparkContext;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Functions of an application that go wrong, in local mode. */
class InferenceTest {
    /** What the functions of a test have made, as its tasks are of this process. */
    private static final List<OnnxTensor> MADE = new ArrayList<>();

    private static JavaSparkContext spark;
    private static String model;

    @BeforeAll
    static void start(@TempDir Path folder) throws IOException {
        spark = SparkCluster.inThisProcess(Map.of(
                "spark.plugins", AllocatorPlugin.class.getName(),
                "spark.allocator.nativeMemory", "16m",
                "spark.allocator.taskMemory", "8m"));
        model = RowModel.write(folder.resolve("wide.onnx"), 1024).toString();
    }

    @AfterAll
    static void stop() {
        if (spark != null) {
            spark.close();
        }
    }

    private static List<Float> run(int rows, int batchSize, Inputs<Integer> inputs) {
        return spark.parallelize(IntStream.range(0, rows).boxed().toList(), 1)
                .mapPartitions(Inference.of(model, batchSize, inputs, RowModel::outputs))
                .collect();
    }

    /** Returns the tensors of the first batch for all. */
    private static Map<String, OnnxTensor> usedAgain(OrtEnvironment environment, List<Integer> rows)
            throws OrtException {
        if (MADE.isEmpty()) {
            MADE.addAll(RowModel.inputs(environment, rows).values());
        }
        return Map.of("x", MADE.getFirst());
    }

    @Test
    void aTensorThatIsUsedForASecondBatchIsRejected() {
        MADE.clear();
        assertThatThrownBy(() -> run(2, 1, InferenceTest::usedAgain)).hasMessageContaining("the input x is closed");
    }

    private static Map<String, OnnxTensor> withNull(OrtEnvironment environment, List<Integer> rows)
            throws OrtException {
        MADE.addAll(RowModel.inputs(environment, rows).values());
        final Map<String, OnnxTensor> tensors = new HashMap<>();
        tensors.put("x", MADE.getFirst());
        tensors.put("another", null);
        return tensors;
    }

    @Test
    void tensorsAreClosedAlsoIfOneIsMissing() {
        MADE.clear();
        assertThatThrownBy(() -> run(1, 1, InferenceTest::withNull)).hasMessageContaining("another");
        assertThat(MADE).isNotEmpty().allMatch(OnnxTensor::isClosed);
    }

    @Test
    void functionsThatReturnNullAreNamed() {
        assertThatThrownBy(() -> run(1, 1, (_, _) -> null))
                .hasMessageContaining("the function of the inputs returned null");
    }

    /** Reads on after a batch that does not fit, which the one after would. */
    private static Iterator<String> readOn(Iterator<Integer> rows) {
        final Iterator<Float> results =
                Inference.of(model, 3000, RowModel::inputs, RowModel::outputs).call(rows);
        final List<String> failures = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            try {
                failures.add("read " + results.hasNext());
            } catch (OutOfMemoryException | IllegalStateException e) {
                failures.add(e.getClass().getSimpleName());
            }
        }
        return failures.iterator();
    }

    @Test
    void resultsEndWithAFailureSoThatNoRowIsMissing() {
        assertThat(spark.parallelize(IntStream.range(0, 3500).boxed().toList(), 1)
                        .mapPartitions(InferenceTest::readOn)
                        .collect())
                .containsExactly("OutOfMemoryException", "IllegalStateException", "IllegalStateException");
    }
}
