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
