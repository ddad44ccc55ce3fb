package allocator.spark;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.spi.AllocatorOptions;
import allocator.spi.InvalidOptionException;
import java.util.Map;
import org.apache.spark.SparkConf;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class PluginSettingsTest {
    private static final long MIB = 1 << 20;

    private static PluginSettings of(String... keysAndValues) {
        final SparkConf conf = new SparkConf(false);
        for (int i = 0; i < keysAndValues.length; i += 2) {
            conf.set(keysAndValues[i], keysAndValues[i + 1]);
        }
        return PluginSettings.of(conf);
    }

    @Nested
    class Defaults {
        @Test
        void areHalfOfTheLeastOverhead() {
            assertThat(of())
                    .isEqualTo(new PluginSettings(
                            192 * MIB,
                            192 * MIB,
                            "cpu-reference",
                            AllocatorOptions.EMPTY,
                            0,
                            "cuda-arena",
                            AllocatorOptions.EMPTY,
                            10));
        }

        @ParameterizedTest
        @CsvSource({
            "spark.executor.memoryOverhead, 1g, 512",
            "spark.executor.memoryOverhead, 300, 150", // mebibytes, as Spark reads it
            "spark.executor.memory, 20g, 1024",
            "spark.executor.memory, 8192, 409",
            "spark.executor.minMemoryOverhead, 1g, 512"
        })
        void followTheOverhead(String key, String value, long mebibytes) {
            assertThat(of(key, value).nativeMemory() / MIB).isEqualTo(mebibytes);
        }

        @Test
        void followTheFactorOfTheOverhead() {
            assertThat(of("spark.executor.memory", "10g", "spark.executor.memoryOverheadFactor", "0.4")
                            .nativeMemory())
                    .isEqualTo(2048 * MIB);
        }
    }

    @Nested
    class Values {
        @ParameterizedTest
        @CsvSource({"512m, 536870912", "1g, 1073741824", "1048576, 1048576", "2048k, 2097152", "1GB, 1073741824"})
        void areSizesAsSparkWritesThem(String text, long bytes) {
            assertThat(of("spark.allocator.nativeMemory", text).nativeMemory()).isEqualTo(bytes);
            assertThat(of("spark.allocator.nativeMemory", text).taskMemory()).isEqualTo(bytes);
        }

        @ParameterizedTest
        @CsvSource(
                nullValues = "-",
                value = {
                    "nativeMemory, much, a size of Spark's such as 512m or 2g",
                    "nativeMemory, '', a size of Spark's such as 512m or 2g",
                    "nativeMemory, -1m, from 1048576 to 9223372036854775807 bytes",
                    "nativeMemory, 1048575, from 1048576 to 9223372036854775807 bytes",
                    "nativeMemory, 9999999999999p, from 1048576 to 9223372036854775807 bytes",
                    "nativeMemory, 1.5g, a size of Spark's such as 512m or 2g",
                    "taskMemory, 0, from 1 to 201326592 bytes",
                    "taskMemory, 1g, 'from 1 to 201326592 bytes, which is spark.allocator.nativeMemory'",
                    "gpuMemory, -1, from 0 to 9223372036854775807 bytes",
                    "reportSeconds, soon, a number of seconds from 0 to 3600",
                    "reportSeconds, 3601, a number of seconds from 0 to 3600",
                    "reportSeconds, -1, a number of seconds from 0 to 3600",
                    "option.arena.max_mem, 1, set spark.allocator.nativeMemory",
                    "gpuOption.arena.max_mem, 1, set spark.allocator.gpuMemory"
                })
        void thatAreWrongAreRejectedWithKeyValueRangeAndOrigin(String key, String value, String accepted) {
            assertThatThrownBy(() -> of("spark.allocator." + key, value))
                    .isInstanceOf(InvalidOptionException.class)
                    .hasMessageContaining("spark.allocator." + key + "='" + value + "'")
                    .hasMessageContaining(accepted)
                    .hasMessageContaining("from the Spark configuration");
        }

        @Test
        void ofUnknownKeysAreRejectedWithTheClosestKey() {
            assertThatThrownBy(() -> of("spark.allocator.nativeMemroy", "1g"))
                    .isInstanceOf(InvalidOptionException.class)
                    .hasMessageContaining("did you mean spark.allocator.nativeMemory?");
        }

        @Test
        void ofOtherPluginsAreNotRead() {
            assertThat(of("spark.allocators", "1", "spark.allocato.x", "2")).isEqualTo(of());
        }
    }

    @Test
    void reachTheExecutorsAsTheyAre() {
        final PluginSettings settings = of(
                "spark.allocator.nativeMemory", "1g",
                "spark.allocator.taskMemory", "100m",
                "spark.allocator.provider", "mine",
                "spark.allocator.option.arena.policy", "compact",
                "spark.allocator.gpuMemory", "2g",
                "spark.allocator.gpuProvider", "theirs",
                "spark.allocator.gpuOption.arena.policy", "slabs",
                "spark.allocator.reportSeconds", "0");
        assertThat(PluginSettings.ofMessage(settings.toMessage())).isEqualTo(settings);
        assertThat(settings.options().toMap()).isEqualTo(Map.of("arena.policy", "compact"));
        assertThat(settings.options().origin("arena.policy")).contains("spark.allocator.option.arena.policy");
    }
}
