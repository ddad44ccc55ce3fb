package allocator.onnxruntime;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import allocator.spi.Allocator;
import allocator.spi.AllocatorClosedException;
import allocator.spi.AllocatorException;
import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorStats;
import allocator.spi.EpFactory;
import allocator.spi.ForeignAddressException;
import allocator.spi.HostAccessibleAllocator;
import allocator.spi.InvalidFreeException;
import allocator.spi.InvalidOptionException;
import allocator.spi.InvalidSizeException;
import allocator.spi.MemoryInfo;
import allocator.spi.OutOfMemoryException;
import allocator.spi.UnknownAllocatorException;
import java.lang.foreign.MemorySegment;
import java.util.Map;
import java.util.ServiceLoader;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class OnnxRuntimeFactoryTest {
    private final OnnxRuntimeFactory factory = new OnnxRuntimeFactory();
    private final MemoryInfo cpu =
            factory.discoverDevices().devices().getFirst().defaultMemory().orElseThrow();

    @AfterEach
    void closeFactory() {
        factory.close();
    }

    private Allocator create(Map<String, String> options) {
        return factory.createAllocator(cpu, AllocatorOptions.of(options));
    }

    private static String figures(Allocator allocator) {
        final AllocatorStats stats = allocator.stats();
        return stats.bytesInUse() + " " + stats.bytesHeld() + " " + stats.peakBytesInUse() + " " + stats.numAllocs()
                + " " + stats.numArenaExtensions() + " " + stats.maxAllocSize();
    }

    @Test
    void isAProviderOnTheModulePath() {
        assertTrue(ServiceLoader.load(EpFactory.class).stream()
                .anyMatch(provider -> provider.type() == OnnxRuntimeFactory.class));
    }

    @Test
    void anArenaWithDefaultsDoesWhatOnnxRuntimesDoes() {
        final Allocator arena = create(Map.of());
        final long a = arena.alloc(1000);
        assertEquals("1024 1048576 1024 1 1 1024", figures(arena));
        final long b = arena.alloc(300_000);
        assertEquals(1024, b - a);
        final long c = arena.alloc(600_000);
        assertEquals("1048576 1048576 1048576 3 1 747520", figures(arena));
        arena.free(b);
        final long d = arena.alloc(100_000);
        assertEquals(1024, d - a);
        final long e = arena.alloc(200_000);
        assertEquals("1048832 3145728 1048832 5 2 747520", figures(arena));
        for (final long block : new long[] {a, c, d, e}) {
            arena.free(block);
        }
        assertEquals(0, arena.stats().bytesInUse());
        factory.releaseAllocator(arena);
    }

    @Test
    void chosenSettingsApply() {
        final Allocator arena = create(Map.of("arena.max_mem", "65536", "arena.initial_chunk_size_bytes", "4096"));
        final long a = arena.alloc(4096);
        final long b = arena.alloc(4096);
        assertEquals("8192 12288 8192 2 2 4096", figures(arena));
        assertEquals(65536, arena.stats().limit());
        assertEquals("4096", arena.effectiveOptions().value("arena.initial_chunk_size_bytes"));
        final OutOfMemoryException failure = assertThrows(OutOfMemoryException.class, () -> arena.alloc(65536));
        assertEquals(65536, failure.shortage().requested());
        assertEquals(12288, failure.shortage().held());
        assertInstanceOf(OnnxRuntimeException.class, failure.getCause());
        assertEquals(1, arena.stats().numFailedAllocs());
        arena.free(a);
        arena.free(b);
        factory.releaseAllocator(arena);
    }

    @Test
    void aReserveIsExactAndOutsideTheRegions() {
        final Allocator arena = create(Map.of());
        final long weights = arena.reserve(1000);
        assertEquals("1000 1000 1000 1 0 1000", figures(arena));
        assertEquals(1, arena.stats().numReserves());
        arena.free(weights);
        assertEquals("0 0 1000 1 0 1000", figures(arena));
        assertThrows(OutOfMemoryException.class, () -> arena.reserve(1L << 46));
        factory.releaseAllocator(arena);
    }

    @ParameterizedTest
    @ValueSource(strings = {"arena", "session", "shared"})
    void memoryOfEverySourceCanBeUsed(String source) {
        final Allocator allocator = create(Map.of("ort.source", source));
        final HostAccessibleAllocator host = assertInstanceOf(HostAccessibleAllocator.class, allocator);
        final long block = allocator.alloc(5000);
        assertEquals(0, block % cpu.byteAlignment());
        final MemorySegment bytes = host.segment(block, 5000);
        bytes.fill((byte) 7);
        assertEquals(-1, bytes.mismatch(bytes.asReadOnly()));
        assertEquals(0, allocator.alloc(0));
        allocator.free(0);
        assertThrows(OutOfMemoryException.class, () -> allocator.alloc(1L << 46));
        allocator.free(block);
        factory.releaseAllocator(allocator);
    }

    @Test
    void wrongFreesAreRejectedBeforeOnnxRuntimeSeesThem() {
        final Allocator arena = create(Map.of());
        final long block = arena.alloc(1000);
        assertThrows(ForeignAddressException.class, () -> arena.free(64));
        assertThrows(InvalidFreeException.class, () -> arena.free(block + 64));
        arena.free(block);
        assertThrows(InvalidFreeException.class, () -> arena.free(block));
        factory.releaseAllocator(arena);
    }

    @ParameterizedTest
    @ValueSource(longs = {-1, Long.MIN_VALUE, Long.MAX_VALUE, Long.MAX_VALUE - 254})
    void absurdSizesAreRejected(long byteSize) {
        final Allocator arena = create(Map.of());
        assertThrows(InvalidSizeException.class, () -> arena.alloc(byteSize));
        assertThrows(InvalidSizeException.class, () -> arena.reserve(byteSize));
        factory.releaseAllocator(arena);
    }

    @Test
    void useAfterReleaseIsRejected() {
        final Allocator arena = create(Map.of());
        assertThrows(IllegalStateException.class, factory::close);
        factory.releaseAllocator(arena);
        assertThrows(AllocatorClosedException.class, () -> arena.alloc(1));
        assertThrows(AllocatorClosedException.class, () -> arena.free(64));
        assertThrows(AllocatorClosedException.class, arena::stats);
        assertThrows(AllocatorClosedException.class, () -> ((HostAccessibleAllocator) arena).segment(64, 1));
        assertThrows(UnknownAllocatorException.class, () -> factory.releaseAllocator(arena));
    }

    @ParameterizedTest
    @CsvSource({
        "arena.max_mem, -1",
        "arena.max_mem, text",
        "arena.initial_chunk_size_bytes, 0",
        "arena.initial_chunk_size_bytes, 2147483648",
        "arena.max_dead_bytes_per_chunk, 9223372036854775807",
        "arena.max_power_of_two_extend_bytes, 0",
        "arena.extend_strategy, 2",
        "ort.source, elsewhere",
        "ort.check_frees, yes",
        "arena.initial_chunk_size, 4096"
    })
    void wrongOptionsAreRejectedByKeyValueAndOrigin(String key, String value) {
        final InvalidOptionException failure =
                assertThrows(InvalidOptionException.class, () -> create(Map.of(key, value)));
        assertEquals(key, failure.key());
        assertEquals(value, failure.value());
        assertEquals(AllocatorOptions.EXPLICIT, failure.origin());
    }

    @Test
    void arenaSettingsAreForArenasOnly() {
        assertThrows(
                InvalidOptionException.class, () -> create(Map.of("ort.source", "session", "arena.max_mem", "4096")));
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 255, 256, 257, 1_000_000, 2_147_483_392})
    void everyAcceptedSizeWorks(long size) {
        for (final var key : ArenaSettings.optionKeys()) {
            if (key == ArenaSettings.EXTEND_STRATEGY) {
                continue;
            }
            final Allocator arena = create(Map.of(key.name(), Long.toString(size)));
            for (final long byteSize : new long[] {1, 100, 256, 1024}) {
                try {
                    arena.free(arena.alloc(byteSize));
                } catch (AllocatorException e) {
                    assertTrue(key == ArenaSettings.MAX_MEM && size < 1280, () -> key + "=" + size + ": " + e);
                }
            }
            factory.releaseAllocator(arena);
        }
    }
}
