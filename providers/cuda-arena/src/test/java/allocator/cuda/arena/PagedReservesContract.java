package allocator.cuda.arena;

import static allocator.cuda.arena.CudaArenaFixture.MIB;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.spi.Allocator;
import allocator.spi.AllocatorStats;
import allocator.spi.DoubleFreeException;
import allocator.spi.InvalidFreeException;
import allocator.spi.OutOfMemoryException;
import allocator.spi.PagedReserves;
import allocator.spi.RemappableReserves;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Reserves on pages of their own, which are taken away and given back. */
abstract class PagedReservesContract {
    private static final RemappableReserves.Part NOTHING = (offset, byteSize) -> {};
    private static final long BYTES = 36 * MIB;

    private final CudaArenaFixture gpu;

    PagedReservesContract(CudaArenaFixture gpu) {
        this.gpu = gpu;
    }

    private static RemappableReserves pages(Allocator arena) {
        return arena.as(RemappableReserves.class).orElseThrow();
    }

    private Allocator arena(String... more) {
        final List<String> options = new ArrayList<>(List.of("arena.paged_reserves", "1"));
        options.addAll(List.of(more));
        return gpu.device(options.toArray(new String[0]));
    }

    @Test
    void withoutTheOptionNoReserveHasPages() {
        assertThat(gpu.device().as(RemappableReserves.class)).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(strings = {"best-fit", "slabs", "compact"})
    void itsMemoryGoesBackAndComesAgainAtItsAddress(String policy) {
        final Allocator arena = arena("arena.policy", policy);
        final RemappableReserves pages = pages(arena);
        final long small = arena.reserve(MIB);
        final long block = arena.reserve(BYTES - 1);
        final AllocatorStats before = arena.stats();
        assertThat(before.bytesHeld()).isEqualTo(BYTES + MIB);
        assertThat(before.bytesInUse()).isEqualTo(BYTES - 1 + MIB);
        pages.unmap(block);
        assertThat(pages.mappedBytes(block)).isZero();
        assertThat(arena.stats().bytesInUse()).isEqualTo(MIB);
        assertThat(arena.stats().bytesHeld()).isEqualTo(before.bytesHeld() - BYTES);
        final List<Long> parts = new ArrayList<>();
        pages.map(block, (offset, byteSize) -> {
            gpu.fill(block + offset, 7 + parts.size(), byteSize);
            parts.add(byteSize);
        });
        assertThat(parts).containsExactly(16 * MIB, 16 * MIB, 4 * MIB);
        gpu.assertFilled(gpu.deviceMemory(), block + 16 * MIB, 8, MIB);
        gpu.assertFilled(gpu.deviceMemory(), block + 32 * MIB, 9, 4 * MIB);
        assertThat(pages.mappedBytes(block)).isEqualTo(BYTES);
        assertThat(arena.stats().bytesHeld()).isEqualTo(before.bytesHeld());
        arena.free(block);
        arena.free(small);
        assertThat(arena.stats().bytesHeld()).isZero();
    }

    @Test
    void aLimitCountsOnlyWhatHasPages() {
        final Allocator arena = arena("arena.max_mem", String.valueOf(40 * MIB));
        final RemappableReserves pages = pages(arena);
        final long first = arena.reserve(BYTES);
        assertThatThrownBy(() -> arena.reserve(8 * MIB)).isInstanceOf(OutOfMemoryException.class);
        pages.unmap(first);
        final long second = arena.reserve(8 * MIB);
        final AllocatorStats before = arena.stats();
        assertThatThrownBy(() -> pages.map(first, NOTHING))
                .isInstanceOf(OutOfMemoryException.class)
                .hasMessageContaining("arena.max_mem");
        assertThat(pages.mappedBytes(first)).isZero();
        assertThat(arena.stats().bytesHeld()).isEqualTo(before.bytesHeld());
        assertThat(arena.stats().numFailedAllocs()).isEqualTo(before.numFailedAllocs() + 1);
        arena.free(second);
        pages.map(first, NOTHING);
        arena.free(first);
        assertThat(arena.stats().bytesHeld()).isZero();
    }

    @Test
    void whatItsUserThrowsLeavesItWithoutPages() {
        final Allocator arena = arena();
        final RemappableReserves pages = pages(arena);
        final long block = arena.reserve(BYTES);
        pages.unmap(block);
        assertThatThrownBy(() -> pages.map(block, (offset, byteSize) -> {
                    if (offset > 0) {
                        throw new IllegalStateException("on purpose");
                    }
                }))
                .isInstanceOf(IllegalStateException.class);
        assertThat(arena.stats().bytesHeld()).isZero();
        pages.map(block, NOTHING);
        assertThat(arena.stats().bytesHeld()).isEqualTo(BYTES);
    }

    @Test
    void aReserveWithoutPagesIsFreedOnceOrByTheRelease() {
        final Allocator arena = arena();
        final RemappableReserves pages = pages(arena);
        final long freed = arena.reserve(BYTES);
        final long live = arena.reserve(BYTES);
        pages.unmap(freed);
        pages.unmap(live);
        arena.free(freed);
        assertThatThrownBy(() -> arena.free(freed)).isInstanceOf(InvalidFreeException.class);
        assertThat(pages.mappedBytes(freed)).isEqualTo(-1);
        gpu.release(arena); // with the second one
    }

    /** Reserves memory that differs in its last byte, and shares it. */
    private long shared(Allocator arena, int lastByte) {
        final long block = arena.reserve(BYTES - 1);
        gpu.fill(block, 7, BYTES - 1);
        gpu.fill(block + BYTES - 2, lastByte, 1);
        sharing(arena).share(block);
        return block;
    }

    private static PagedReserves sharing(Allocator arena) {
        return arena.as(PagedReserves.class).orElseThrow();
    }

    private void assertBytes(long block, int lastByte) {
        gpu.assertFilled(gpu.deviceMemory(), block, 7, MIB);
        gpu.assertFilled(gpu.deviceMemory(), block + BYTES - 1 - MIB, 7, MIB - 1);
        gpu.assertFilled(gpu.deviceMemory(), block + BYTES - 2, lastByte, 1);
    }

    @ParameterizedTest
    @ValueSource(strings = {"best-fit", "slabs", "compact"})
    void equalReservesHaveOneCopyWhichTheLastOneFrees(String policy) {
        final Allocator arena = arena("arena.policy", policy);
        final PagedReserves sharing = sharing(arena);
        final long small = arena.reserve(MIB);
        final long first = shared(arena, 7);
        assertThat(sharing.share(small)).isZero();
        assertThat(sharing.share(first)).as("the first of its bytes").isZero();
        final long second = shared(arena, 7);
        final long third = shared(arena, 7);
        final long other = shared(arena, 8);
        assertThat(sharing.sharedBytes()).isEqualTo(2 * (BYTES - 1));
        assertThat(arena.stats().bytesHeld()).isEqualTo(MIB + 2 * BYTES);
        assertThat(arena.stats().bytesInUse()).isEqualTo(MIB + 2 * (BYTES - 1));
        assertThat(sharing.copyOf(first)).isNotZero().isEqualTo(sharing.copyOf(third));
        assertThat(sharing.copyOf(other)).isNotZero().isNotEqualTo(sharing.copyOf(first));
        assertThat(sharing.copyOf(small)).isZero();
        arena.free(first);
        assertBytes(second, 7);
        assertBytes(third, 7);
        assertBytes(other, 8);
        arena.free(third);
        assertThat(sharing.sharedBytes()).isZero();
        assertThat(arena.stats().bytesHeld()).isEqualTo(MIB + 2 * BYTES);
        assertBytes(second, 7);
        arena.free(second);
        assertThat(arena.stats().bytesHeld()).isEqualTo(MIB + BYTES);
        arena.free(other);
        arena.free(small);
        assertThat(arena.stats().bytesHeld()).isZero();
        assertThat(arena.stats().bytesInUse()).isZero();
    }

    @Test
    void whoComesBackGetsTheCopyOfOthersOrBringsIt() {
        final Allocator arena = arena("arena.max_mem", String.valueOf(2 * BYTES));
        final RemappableReserves pages = pages(arena);
        final List<Long> blocks = List.of(shared(arena, 7), shared(arena, 7), shared(arena, 7));
        final long inUse = arena.stats().bytesInUse();
        for (int i = 0; i < 3; i++) {
            assertThat(arena.stats().bytesHeld()).isEqualTo(BYTES);
            assertThat(arena.stats().bytesInUse()).isEqualTo(inUse);
            pages.unmap(blocks.get(i));
        }
        assertThat(arena.stats().bytesHeld()).isZero();
        assertThat(sharing(arena).sharedBytes()).isZero();
        final long room = arena.reserve(BYTES);
        pages.map(blocks.get(1), (offset, byteSize) -> gpu.fill(blocks.get(1) + offset, 7, byteSize));
        assertThat(sharing(arena).share(blocks.get(1))).isZero();
        pages.map(blocks.get(0), (offset, byteSize) -> {
            throw new AssertionError("it takes no memory, for which the limit has no room");
        });
        assertThat(arena.stats().bytesHeld()).isEqualTo(2 * BYTES);
        assertThat(sharing(arena).sharedBytes()).isEqualTo(BYTES - 1);
        pages.unmap(blocks.get(1));
        pages.map(blocks.get(2), NOTHING);
        assertThat(arena.stats().peakBytesHeld()).isEqualTo(2 * BYTES);
        for (final long block : List.of(blocks.get(0), blocks.get(2))) {
            assertBytes(block, 7);
        }
        blocks.forEach(arena::free);
        arena.free(room);
        assertThat(arena.stats().bytesHeld()).isZero();
    }

    @Test
    void whatIsNoReserveWithPagesIsRejected() {
        final Allocator arena = arena();
        final RemappableReserves pages = pages(arena);
        final long small = arena.reserve(pages.pageBytes() - 1);
        final long chunk = arena.alloc(BYTES);
        final long block = arena.reserve(BYTES);
        for (final long other : new long[] {0, small, chunk, block + pages.pageBytes()}) {
            assertThat(pages.mappedBytes(other)).isEqualTo(-1);
            assertThatIllegalArgumentException().isThrownBy(() -> pages.unmap(other));
            assertThatIllegalArgumentException().isThrownBy(() -> pages.map(other, NOTHING));
        }
        assertThatIllegalArgumentException().isThrownBy(() -> pages.map(block, NOTHING));
        pages.unmap(block);
        assertThatIllegalArgumentException().isThrownBy(() -> pages.unmap(block));
        pages.map(block, NOTHING);
        arena.free(block);
        assertThatThrownBy(() -> arena.free(block))
                .isInstanceOf(InvalidFreeException.class)
                .isNotInstanceOf(DoubleFreeException.class);
    }
}
