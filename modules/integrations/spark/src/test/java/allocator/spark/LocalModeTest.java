package allocator.spark;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.spi.InvalidOptionException;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Contexts whose tasks run in this process: with the plug-in, without it, and with settings that are wrong. */
class LocalModeTest {
    private static Map<String, String> plugin(String key, String value) {
        return Map.of("spark.plugins", AllocatorPlugin.class.getName(), key, value);
    }

    @Test
    void oneContextAfterAnotherHasMemory() {
        for (int i = 1; i <= 2; i++) {
            try (JavaSparkContext spark = SparkCluster.inThisProcess(plugin("spark.allocator.nativeMemory", i + "m"))) {
                assertThat(spark.parallelize(List.of(1), 1)
                                .mapPartitions(Tasks::fill)
                                .collect()
                                .getFirst()
                                .numbers())
                        .containsEntry("filled", i * Tasks.MEBIBYTE)
                        .containsEntry("limit", i * Tasks.MEBIBYTE);
            }
        }
    }

    @Test
    void theExamplesRun(@TempDir Path folder) throws IOException {
        final Path model = RowModel.write(folder.resolve("rows.onnx"), 1);
        final float[] ones = new float[RowModel.COLUMNS];
        Arrays.fill(ones, 1);
        try (JavaSparkContext spark = SparkCluster.inThisProcess(plugin("spark.allocator.nativeMemory", "16m"))) {
            final JavaRDD<float[]> rows = spark.parallelize(List.of(ones, new float[RowModel.COLUMNS]), 2);
            // 16 factors from -4 on
            assertThat(SparkExample.score(spark, model, rows).collect()).containsExactly(56f, 0f);
            assertThat(rows.mapPartitions(SparkExample::checksums).collect()).containsExactly(16L * (0x3F - 0x80), 0L);
        }
    }

    @Test
    void withoutThePluginATaskSaysWhatToSet() {
        try (JavaSparkContext spark = SparkCluster.inThisProcess(Map.of())) {
            assertThatThrownBy(() -> spark.parallelize(List.of(1), 1)
                            .mapPartitions(Tasks::fill)
                            .collect())
                    .hasMessageContaining("set spark.plugins=allocator.spark.AllocatorPlugin");
        }
    }

    @ParameterizedTest
    @CsvSource({
        "spark.allocator.nativeMemory, a lot",
        "spark.allocator.option.arena.policy, worst-fit",
        "spark.allocator.option.arena.polcy, best-fit",
        "spark.allocator.provider, nobody"
    })
    void aWrongSettingFailsTheStart(String key, String value) {
        assertThatThrownBy(() -> SparkCluster.inThisProcess(plugin(key, value)))
                .isInstanceOf(InvalidOptionException.class)
                .hasMessageContaining("'" + value + "'")
                .hasMessageContaining(key)
                .hasMessageContaining("the Spark configuration");
    }

    @Tag("thorough")
    @Test
    void memoryOfGpusWithoutAGpuIsTheFailureOfTasksThatUseMemory() {
        try (JavaSparkContext spark = SparkCluster.inThisProcess(plugin("spark.allocator.gpuMemory", "1g"))) {
            assertThat(spark.parallelize(List.of(1, 2)).count()).isEqualTo(2);
            assertThatThrownBy(() -> spark.parallelize(List.of(1), 1)
                            .mapPartitions(Tasks::fill)
                            .collect())
                    .hasMessageContaining("spark.allocator.gpuMemory is set, but Spark assigned no gpu");
            assertThat(AllocatorPlugin.reports())
                    .anySatisfy(report -> assertThat(report.failure()).isPresent());
        }
    }
}
