package allocator.spark;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Map;
import org.apache.spark.SparkConf;
import org.apache.spark.resource.ResourceInformation;
import org.junit.jupiter.api.Test;

class GpusTest {
    private static Map<String, ResourceInformation> resources(String... addresses) {
        return Map.of(
                "gpu", new ResourceInformation("gpu", addresses), "fpga", new ResourceInformation("fpga", addresses));
    }

    private static ExecutorMemory open(String gpuMemory, Map<String, ResourceInformation> resources) {
        final SparkConf conf = new SparkConf(false)
                .set("spark.allocator.nativeMemory", "1m")
                .set("spark.allocator.gpuProvider", "test-gpus")
                .set("spark.allocator.gpuMemory", gpuMemory);
        return ExecutorMemory.open("executor", PluginSettings.of(conf), resources);
    }

    @Test
    void areThoseThatSparkAssigned() {
        try (ExecutorMemory memory = open("2m", resources("3", "1"))) {
            assertThat(memory.gpus()).containsOnlyKeys(1, 3);
            assertThat(memory.gpus().get(3).allocator().info().deviceOrdinal()).isEqualTo(3);
            assertThat(memory.gpus().get(3).limit()).isEqualTo(2 * Tasks.MEBIBYTE);
        }
    }

    @Test
    void withoutMemoryOfTheirOwnMayHaveAnyAddress() {
        try (ExecutorMemory memory = open("0", resources("MIG-7b1f"))) {
            assertThat(memory.gpus()).isEmpty();
        }
    }

    @Test
    void thatAreMissingAreNamed() {
        assertThatThrownBy(() -> open("2m", Map.of()))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("set spark.executor.resource.gpu.amount");
        assertThatThrownBy(() -> open("2m", resources("MIG-7b1f")))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("Spark assigned the gpu 'MIG-7b1f'");
        assertThatThrownBy(() -> open("2m", resources("0", "9")))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("provider test-gpus has no memory of gpu:9");
    }
}
