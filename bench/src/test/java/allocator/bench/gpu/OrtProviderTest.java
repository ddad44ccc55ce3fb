package allocator.bench.gpu;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.spi.AllocatorOptions;
import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncStream;
import allocator.trace.Trace;
import java.nio.file.Path;
import java.util.Arrays;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The path on which ONNX Runtime's CUDA arena is measured, with the arena of its sessions on the CPU. */
class OrtProviderTest {
    @TempDir
    private Path folder;

    private static DirectReplay replay(Trace trace, Provider provider) {
        final SyncStream[] streams = new SyncStream[trace.streamCount()];
        Arrays.setAll(streams, stream -> provider.stream());
        return new DirectReplay(trace, streams);
    }

    @ParameterizedTest
    @ValueSource(strings = {"resnet", "two_streams"})
    void aReplayAllocatesAllAndFreesAll(String name) throws Exception {
        final Trace trace = ReplayBenchmark.load(name);
        try (Provider provider = Provider.open("onnxruntime-cpu")) {
            final StreamAwareAllocator arena = provider.allocator(AllocatorOptions.EMPTY);
            assertThat(arena.stats().numAllocs()).isZero();
            assertThat(replay(trace, provider).pass(arena)).isPositive();
            assertThat(arena.stats().numAllocs()).isEqualTo(trace.allocationCount());
            assertThat(arena.stats().bytesInUse()).isZero();
            assertThat(arena.stats().peakBytesInUse())
                    .isGreaterThanOrEqualTo(arena.stats().maxAllocSize());
            assertThat(arena.stats().peakBytesHeld())
                    .isGreaterThanOrEqualTo(arena.stats().peakBytesInUse());
            provider.release(arena);
        }
    }

    @Test
    void eachArenaIsThatOfASessionOfItsOwn() {
        try (Provider provider = Provider.open("onnxruntime-cpu")) {
            final StreamAwareAllocator one = provider.allocator(AllocatorOptions.EMPTY);
            final StreamAwareAllocator other = provider.allocator(AllocatorOptions.EMPTY);
            final long block = one.alloc(1000);
            assertThat(one.stats().bytesInUse()).isEqualTo(1024);
            assertThat(other.stats().bytesInUse()).isZero();
            one.free(block);
            provider.release(one);
            provider.release(other);
        }
    }

    @Test
    @Tag("thorough")
    void theBenchmarkHasFiguresOfTheArenaAndOfEmptyCalls() throws Exception {
        final Path results = folder.resolve("results.csv");
        for (String provider : new String[] {"onnxruntime-cpu", "empty-call"}) {
            ReplayBenchmark.main(new String[] {"--direct", results.toString(), provider, "resnet"});
        }
        final Measurements measured = Measurements.read(results);
        for (String metric : new String[] {"ns_per_event_first", "ns_per_event_cold", "ns_per_event_warm"}) {
            assertThat(measured.value("onnxruntime-cpu direct", "resnet", 1, metric))
                    .as(metric)
                    .isPositive();
        }
        assertThat(measured.value("onnxruntime-cpu direct", "resnet", 1, "peak_held_bytes"))
                .isPositive();
        assertThat(measured.value("empty-call direct", "resnet", 1, "ns_per_event_warm"))
                .isPositive();
    }

    @Test
    void aLibraryWithoutTheCudaProviderIsNamed() {
        try (Provider provider = Provider.open("onnxruntime-cuda")) {
            assertThatThrownBy(() -> provider.allocator(AllocatorOptions.EMPTY))
                    .hasMessageContaining("CUDA execution provider is not enabled");
        }
    }
}
