package allocator.arena;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.spi.AllocatorClosedException;
import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorStats;
import allocator.spi.AllocatorType;
import allocator.spi.DoubleFreeException;
import allocator.spi.ForeignAddressException;
import allocator.spi.InteriorAddressException;
import allocator.spi.InvalidOptionException;
import allocator.spi.InvalidSizeException;
import allocator.spi.MemoryInfo;
import allocator.spi.OptionKey;
import allocator.spi.OutOfMemoryException;
import allocator.testkit.FakeDevice;
import allocator.testkit.FakeStream;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What callers should not do is rejected by name, and changes nothing. */
class BfcArenaMisuseTest {
    private final FakeDevice device = new FakeDevice();
    private final BfcArena arena = new BfcArena(device, ArenaConfig.DEFAULT);
    private ArenaState before;
    private long block;
    private long reserve;

    @BeforeEach
    void makeSomethingLive() {
        block = arena.alloc(1000);
        arena.alloc(300_000);
        reserve = arena.reserve(1000);
        before = ArenaState.of(arena);
    }

    @AfterEach
    void nothingHasChanged() {
        assertThat(ArenaState.of(arena)).isEqualTo(before);
        arena.checkConsistency();
        arena.free(block);
        arena.free(reserve);
    }

    @ParameterizedTest
    @ValueSource(longs = {-1, -256, Long.MIN_VALUE})
    void aNegativeSizeIsRejected(long byteSize) {
        assertThatThrownBy(() -> arena.alloc(byteSize)).isInstanceOf(InvalidSizeException.class);
        assertThatThrownBy(() -> arena.reserve(byteSize)).isInstanceOf(InvalidSizeException.class);
        assertThatThrownBy(() -> arena.allocOnStream(byteSize, new FakeStream()))
                .isInstanceOf(InvalidSizeException.class)
                .hasMessageContaining("negative");
    }

    @ParameterizedTest
    @ValueSource(longs = {Long.MAX_VALUE, Long.MAX_VALUE - 254})
    void aSizeThatCannotBeRoundedIsRejected(long byteSize) {
        assertThatThrownBy(() -> arena.alloc(byteSize))
                .isInstanceOf(InvalidSizeException.class)
                .hasMessageContaining("overflows");
        assertThatThrownBy(() -> arena.reserve(byteSize)).isInstanceOf(InvalidSizeException.class);
    }

    @ParameterizedTest
    @ValueSource(longs = {Long.MAX_VALUE - 255, Long.MAX_VALUE - 1_000_000, 1L << 62, 1L << 45})
    void aSizeThatNoDeviceHasIsOutOfMemory(long byteSize) {
        assertThatThrownBy(() -> arena.alloc(byteSize)).isInstanceOf(OutOfMemoryException.class);
        assertThatThrownBy(() -> arena.reserve(byteSize)).isInstanceOf(OutOfMemoryException.class);
        before = withFailures(2);
    }

    /** The snapshot from before, but for the count of failures and the growth that a request leaves behind. */
    private ArenaState withFailures(int failures) {
        final ArenaState now = ArenaState.of(arena);
        assertThat(now.stats().numFailedAllocs()).isEqualTo(failures);
        assertThat(now.chunks()).isEqualTo(before.chunks());
        return now;
    }

    @Test
    void zeroIsTheEmptyAllocation() {
        assertThat(arena.alloc(0)).isZero();
        assertThat(arena.reserve(0)).isZero();
        assertThat(arena.allocOnStream(0, new FakeStream())).isZero();
        arena.free(0);
    }

    @Test
    void aForeignAddressIsRejected() {
        for (final long address : new long[] {1, 4096, device.base(0) - 1, -1, Long.MIN_VALUE, Long.MAX_VALUE}) {
            assertThatThrownBy(() -> arena.free(address)).isInstanceOf(ForeignAddressException.class);
        }
        final long end = device.base(0) + (1 << 20);
        assertThatThrownBy(() -> arena.free(end)).isInstanceOf(ForeignAddressException.class);
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 255, 256, 512, 1023})
    void anAddressInsideABlockIsRejected(long offset) {
        assertThatThrownBy(() -> arena.free(block + offset))
                .isInstanceOf(InteriorAddressException.class)
                .hasMessageContaining(offset + " bytes inside");
    }

    @Test
    void anAddressFarInsideALargeBlockIsRejected() {
        assertThatThrownBy(() -> arena.free(block + 1024 + 299_000)).isInstanceOf(InteriorAddressException.class);
    }

    @Test
    void anAddressInsideAReserveIsRejected() {
        assertThatThrownBy(() -> arena.free(reserve + 256)).isInstanceOf(InteriorAddressException.class);
        assertThatThrownBy(() -> arena.free(reserve + 1000)).isInstanceOf(ForeignAddressException.class);
    }

    @Test
    void aSecondFreeIsRejected() {
        final long twice = arena.alloc(5000);
        arena.free(twice);
        before = ArenaState.of(arena);

        assertThatThrownBy(() -> arena.free(twice)).isInstanceOf(DoubleFreeException.class);
    }

    /** The block's start is inside a larger free chunk by then. */
    @Test
    void aSecondFreeAfterCoalescingIsRejected() {
        final long left = arena.alloc(500);
        final long right = arena.alloc(700_000 - 1024 * 400);
        arena.free(left);
        arena.free(right);
        before = ArenaState.of(arena);

        assertThatThrownBy(() -> arena.free(right)).isInstanceOf(DoubleFreeException.class);
        assertThatThrownBy(() -> arena.free(right + 1)).isInstanceOf(ForeignAddressException.class);
    }

    @Test
    void aSecondFreeOfAReserveIsRejected() {
        final long twice = arena.reserve(5000);
        arena.free(twice);
        before = ArenaState.of(arena);

        assertThatThrownBy(() -> arena.free(twice)).isInstanceOf(ForeignAddressException.class);
    }

    @Test
    void theSizeOfWhatIsNotLiveIsRejected() {
        for (final long address : new long[] {0, 1, block + 256, reserve + 1, device.base(0) + (1 << 19)}) {
            assertThatThrownBy(() -> arena.requestedSize(address)).isInstanceOf(IllegalArgumentException.class);
            assertThatThrownBy(() -> arena.allocatedSize(address)).isInstanceOf(IllegalArgumentException.class);
        }
    }

    @Test
    void aClosedArenaRejectsEverything() {
        final BfcArena closed = new BfcArena(new FakeDevice(), ArenaConfig.DEFAULT);
        final long address = closed.alloc(1000);
        assertThat(closed.close()).isEqualTo(new CloseReport(1, 1000, 1 << 20));
        assertThat(closed.close()).isEqualTo(new CloseReport(0, 0, 0));
        final List<ThrowingCallable> calls = List.of(
                () -> closed.alloc(1),
                () -> closed.alloc(0),
                () -> closed.alloc(10_000_000),
                () -> closed.allocOnStream(1, new FakeStream()),
                () -> closed.reserve(1),
                () -> closed.free(address),
                () -> closed.stats(),
                () -> closed.shrink(),
                () -> closed.inspect(),
                () -> closed.requestedSize(address),
                () -> closed.releaseStream(new FakeStream()));

        assertThat(calls).allSatisfy(call -> assertThatThrownBy(call).isInstanceOf(AllocatorClosedException.class));
    }

    @Test
    void anAlignmentBeyondTheArenasIsRejected() {
        final FakeDevice aligned = new FakeDevice() {
            @Override
            public MemoryInfo info() {
                return new MemoryInfo("Aligned", INFO.location(), 4096, AllocatorType.DEVICE);
            }
        };

        assertThatThrownBy(() -> new BfcArena(aligned, ArenaConfig.DEFAULT))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("4096");
    }

    static Stream<Arguments> sizesInOptions() {
        final List<String> values = List.of(
                "-1",
                "0",
                "1",
                "255",
                "256",
                "257",
                "1000000",
                "2147483648",
                "9223372036854775807",
                "",
                "1MiB",
                " 1",
                "1e6");
        return ArenaOptions.KEYS.stream().flatMap(key -> values.stream().map(value -> Arguments.of(key, value)));
    }

    /**
     * Every value is rejected by name, or an arena with it works: it allocates, shrinks, allocates again and closes.
     */
    @ParameterizedTest
    @MethodSource("sizesInOptions")
    void everyOptionValueIsRejectedOrWorks(OptionKey<?> key, String value) {
        final AllocatorOptions options = AllocatorOptions.of(Map.of(key.name(), value), "session");
        final ArenaConfig config;
        try {
            config = ArenaConfig.from(options);
        } catch (InvalidOptionException e) {
            assertThat(e).hasMessageContainingAll(key.name(), "'" + value + "'", key.accepted(), "session");
            return;
        }
        final FakeDevice scarce = new FakeDevice().capacity(1L << 24);
        final BfcArena work = new BfcArena(scarce, config);
        for (int round = 0; round < 3; round++) {
            for (final long byteSize : new long[] {1, 256, 1000, 100_000, 1 << 20, 3 << 20}) {
                try {
                    work.free(work.alloc(byteSize));
                } catch (OutOfMemoryException e) {
                    assertThat(e.shortage().requested()).isEqualTo(byteSize);
                }
            }
            work.checkConsistency();
            work.shrink();
        }
        final AllocatorStats stats = work.stats();
        assertThat(stats.bytesHeld()).isEqualTo(scarce.liveBytes());
        work.close();
        assertThat(scarce.liveBlocks()).isZero();
    }
}
