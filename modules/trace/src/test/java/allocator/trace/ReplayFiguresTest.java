package allocator.trace;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import allocator.arena.ArenaAllocator;
import allocator.arena.ArenaConfig;
import allocator.arena.ArenaOptions;
import allocator.arena.BfcArena;
import allocator.runtime.Environment;
import allocator.spi.Allocator;
import allocator.spi.AllocatorOptions;
import allocator.spi.DeviceType;
import allocator.spi.OptionKey;
import allocator.testkit.FakeDevice;
import allocator.testkit.FakeFactory;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * What a replay reports is, to the byte, what the rules of ONNX Runtime's arena give.
 *
 * <p>Among free chunks of one size the lowest address is taken, so with several regions the figures depend a little on
 * where the device puts them. Here the regions lie in the order in which they are taken, as the model has them.
 */
class ReplayFiguresTest {
    private static final long MIB = 1 << 20;

    @TempDir
    private Path folder;

    /** A provider of arenas on devices whose addresses rise. */
    private static FakeFactory arenas() {
        return new FakeFactory("Rising")
                .with(DeviceType.GPU, 0, FakeDevice.INFO)
                .keys(Stream.concat(Stream.of(OptionKey.EXCLUSIVE), ArenaOptions.KEYS.stream())
                        .toList())
                .streamAware(false)
                .returned(ReplayFiguresTest::arena);
    }

    private static Allocator arena(Allocator allocator) {
        final AllocatorOptions options = allocator.effectiveOptions();
        return new ArenaAllocator(new BfcArena(new FakeDevice(), ArenaConfig.from(options)), options);
    }

    private static ReplayResult replay(Trace trace, Map<String, String> settings) {
        try (Environment environment =
                Environment.builder().modulePathProviders(false).build()) {
            environment.register(arenas());
            return new Replay(environment, environment.devices().getFirst(), AllocatorOptions.of(settings))
                    .once(trace, ReplayListener.NONE);
        }
    }

    /** With one region the figures do not depend on addresses, so those of a provider are the model's as well. */
    @ParameterizedTest
    @ValueSource(strings = {"resnet", "bert"})
    void ofTheCpuProviderWithOneRegionAgreeToo(String name) throws TraceException {
        final Trace trace = Trace.bundled(name);
        final Map<String, String> settings = Map.of(
                "arena.initial_chunk_size_bytes", "67108864",
                "arena.max_mem", "67108864",
                "arena.max_dead_bytes_per_chunk", "4096");
        final ReplayResult result;
        try (Environment environment = Environment.builder()
                .allowModules("java.allocator.cpu.reference")
                .build()) {
            result = new Replay(environment, environment.devices().getFirst(), AllocatorOptions.of(settings))
                    .once(trace, ReplayListener.NONE);
        }
        final ArenaModel model = new ArenaModel(true, 67108864, 67108864, 4096, 1 << 30);
        model.replay(trace);
        assertAgree(result, model);
    }

    @ParameterizedTest
    @CsvSource({
        // trace, extend_strategy, initial_chunk_size_bytes, max_mem, max_dead_bytes_per_chunk,
        // max_power_of_two_extend_bytes
        "resnet,      0,  1048576,           0, 134217728, 1073741824",
        "resnet,      1,  1048576,           0, 134217728, 1073741824",
        "resnet,      0, 67108864,    67108864,      4096, 1073741824",
        "resnet,      0,     1000,   100000000,       256,   10000000",
        "bert,        1,     4096,   400000000,   1000000, 1073741824",
        "frcnn,       1,  1048576,  2000000000,     65536, 1073741824",
        "llama_train, 0,  1048576,           0, 134217728, 1073741824"
    })
    void agreeWithAnIndependentModel(
            String name, int strategy, long initial, long maxMem, long maxDeadBytes, long maxExtend)
            throws TraceException {
        requireThoseOfTheModel(name, strategy, initial, maxMem, maxDeadBytes, maxExtend);
    }

    @ParameterizedTest
    @Tag("thorough")
    @CsvSource({
        "bert,        0,  1048576,           0, 134217728, 1073741824",
        "bert,        1,  1048576,           0, 134217728, 1073741824",
        "bert,        0, 67108864,    67108864,      4096, 1073741824",
        "frcnn,       0,  1048576,           0, 134217728, 1073741824",
        "llama_train, 1,  1048576,           0, 134217728, 1073741824",
        "gpt2,        0,  1048576,           0, 134217728, 1073741824",
        "gpt2,        1,  1048576,           0, 134217728, 1073741824"
    })
    void ofMoreTracesAgreeToo(String name, int strategy, long initial, long maxMem, long maxDeadBytes, long maxExtend)
            throws TraceException {
        requireThoseOfTheModel(name, strategy, initial, maxMem, maxDeadBytes, maxExtend);
    }

    private void requireThoseOfTheModel(
            String name, int strategy, long initial, long maxMem, long maxDeadBytes, long maxExtend)
            throws TraceException {
        final Trace trace = Trace.bundled(name);
        final Map<String, String> settings = new TreeMap<>();
        settings.put("arena.extend_strategy", Integer.toString(strategy));
        settings.put("arena.initial_chunk_size_bytes", Long.toString(initial));
        settings.put("arena.max_mem", Long.toString(maxMem));
        settings.put("arena.max_dead_bytes_per_chunk", Long.toString(maxDeadBytes));
        settings.put("arena.max_power_of_two_extend_bytes", Long.toString(maxExtend));
        final ReplayResult result = replay(trace, settings);

        final ArenaModel model =
                new ArenaModel(strategy == 0, initial, maxMem == 0 ? Long.MAX_VALUE : maxMem, maxDeadBytes, maxExtend);
        model.replay(trace);
        assertAgree(result, model);
    }

    private static void assertAgree(ReplayResult result, ArenaModel model) {
        assertThat(result.failedAllocations()).isEqualTo(model.failed);
        assertThat(result.peakRequestedBytes()).isEqualTo(model.peakRequested);
        assertThat(result.peakInUseBytes()).isEqualTo(model.peakInUse);
        assertThat(result.peakHeldBytes()).isEqualTo(model.peakHeld);
        assertThat(result.inUseAtEndBytes()).isEqualTo(model.inUse);
        assertThat(result.heldAtEndBytes()).isEqualTo(model.held);
        assertThat(result.liveAtEnd()).isEqualTo(model.live);
        assertThat(result.maxAllocSize()).isEqualTo(model.maxAllocSize);
        assertThat(result.extensions()).isEqualTo(model.regionCount());
        model.shrinkAll();
        assertThat(result.shrinkages()).isEqualTo(model.shrinkages);
        assertThat(result.bytesHeldAfterShrink()).isEqualTo(model.held);
    }

    /** The first golden trace of ONNX Runtime 1.30: its counters after {@code H} and {@code I}. */
    @Test
    void areThoseOfOnnxRuntimesFirstGoldenTrace() throws IOException {
        final Path file = Files.writeString(folder.resolve("t1.csv"), """
                op,id,bytes,stream
                a,1,1000,0
                a,2,300000,0
                a,3,600000,0
                f,2,300000,0
                a,4,100000,0
                a,5,200000,0
                f,1,1000,0
                f,4,100000,0
                f,5,200000,0
                a,6,300000,0
                a,7,262144,0
                a,8,3145728,0
                a,9,524288,0
                """);
        final ReplayResult result = replay(Trace.read(file), Map.of());
        assertThat(result.inUseAtEndBytes()).isEqualTo(6029312);
        assertThat(result.peakInUseBytes()).isEqualTo(6029312);
        assertThat(result.peakRequestedBytes()).isEqualTo(4832160);
        assertThat(result.peakHeldBytes()).isEqualTo(7 * MIB);
        assertThat(result.extensions()).isEqualTo(3);
        assertThat(result.maxAllocSize()).isEqualTo(4 * MIB);
        assertThat(result.liveAtEnd()).isEqualTo(5);
        assertThat(result.shrinkages()).isEqualTo(2);
        assertThat(result.bytesHeldAfterShrink()).isEqualTo(MIB);
    }

    /** Peaks over the peak of requested bytes, computed by others for ONNX Runtime's rules at other addresses. */
    @ParameterizedTest
    @CsvSource({
        "resnet, 1.71, 1.74",
        "bert, 2.04, 1.20",
        "gpt2, 1.89, 2.28",
        "llama_train, 1.35, 1.10",
        "frcnn, 1.48, 1.28",
        "two_streams, 1.55, 1.26"
    })
    void giveTheKnownRatios(String name, double powerOfTwo, double sameAsRequested) throws TraceException {
        final Trace trace = Trace.bundled(name);
        assertThat(replay(trace, Map.of()).heldOverRequested()).isCloseTo(powerOfTwo, within(0.01));
        assertThat(replay(trace, Map.of("arena.extend_strategy", "1")).heldOverRequested())
                .isCloseTo(sameAsRequested, within(0.01));
    }
}
