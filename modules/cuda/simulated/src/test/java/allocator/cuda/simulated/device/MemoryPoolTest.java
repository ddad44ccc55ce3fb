package allocator.cuda.simulated.device;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.cuda.driver.CudaDeviceInfo;
import allocator.cuda.driver.PoolAttribute;
import allocator.cuda.simulated.device.PoolSegment.Tile;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.UUID;
import org.junit.jupiter.api.Test;

/** Which tiles a pool finds. */
class MemoryPoolTest {
    private static final long BLOCK = 4096;

    private static final int COUNT = 1000;

    private final Device device = new Device(
            new CudaDeviceInfo(0, "test", new UUID(0, 0), "0", 1L << 40, 90, true, true, true, true),
            false,
            true,
            1,
            2);
    private final MemoryPool pool = new MemoryPool(3, device);
    private final StreamQueue one = new StreamQueue(4, 1, 0);
    private final StreamQueue two = new StreamQueue(5, 2, 0);

    MemoryPoolTest() {
        pool.set(PoolAttribute.RELEASE_THRESHOLD, Long.MAX_VALUE);
    }

    private Tile allocate(long byteSize, StreamQueue stream) {
        return pool.allocate(byteSize, stream, (other, position) -> {
            throw new AssertionError("a dependency on " + other);
        });
    }

    private List<Tile> allocate(int count, StreamQueue stream) {
        final List<Tile> tiles = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            tiles.add(allocate(BLOCK, stream));
        }
        return tiles;
    }

    private void free(Tile tile, StreamQueue stream) {
        pool.free(tile, stream, ++stream.submitted);
    }

    private void complete(StreamQueue stream) {
        while (stream.done < stream.submitted) {
            stream.done++;
            pool.freeHasTakenEffect(BLOCK);
        }
    }

    /** Frees in any order, so that neighbours are joined from all sides. */
    private void freeShuffled(List<Tile> tiles, StreamQueue stream) {
        Collections.shuffle(tiles, new Random(1));
        tiles.forEach(tile -> free(tile, stream));
    }

    @Test
    void whatIsFreedInAnyOrderIsJoinedAndReleased() {
        final List<Tile> kept = new ArrayList<>();
        final List<Tile> freed = new ArrayList<>();
        for (int i = 0; i < COUNT; i++) {
            (i % 2 == 0 ? kept : freed).add(allocate(BLOCK, one));
        }
        freeShuffled(freed, one); // no two are neighbours
        final List<Tile> others = allocate(COUNT, two); // beside frees that have not taken effect
        complete(one);
        others.addAll(allocate(COUNT, two)); // from those that have
        pool.synchronize();
        freeShuffled(kept, one);
        freeShuffled(others, two);
        pool.synchronize();
        complete(one);
        complete(two);
        pool.synchronize();
        assertThat(pool.get(PoolAttribute.USED_MEM_CURRENT)).isZero();
        assertThat(pool.releaseDownTo(0)).isTrue();
        assertThat(pool.get(PoolAttribute.RESERVED_MEM_CURRENT)).isZero();
    }

    @Test
    void aStreamFindsWhatItMayUse() {
        pool.set(PoolAttribute.REUSE_ALLOW_OPPORTUNISTIC, 0);
        final List<Tile> tiles = allocate(5, one);
        final List<Long> addresses = tiles.stream().map(tile -> tile.address).toList();
        free(tiles.get(1), one);
        two.follow(one, one.submitted, Map.of());
        free(tiles.get(3), one);
        assertThat(allocate(BLOCK, two).address).isEqualTo(addresses.get(1)); // it has waited for that free alone
        assertThat(allocate(BLOCK, one).address).isEqualTo(addresses.get(3));
    }

    /** Tiles of several streams, and of none, that are neighbours. */
    @Test
    void aRequestIsServedFromNeighboursThatAreNotAlike() {
        final Tile before = allocate(BLOCK, one);
        final Tile first = allocate(BLOCK, one);
        final Tile second = allocate(BLOCK, one);
        final Tile third = allocate(BLOCK, one);
        final long address = first.address;
        allocate((32L << 20) - 4 * BLOCK, one); // the segment is full
        free(first, one);
        free(second, two);
        free(third, one);
        final Tile none = allocate(2 * BLOCK, one); // of another segment: the one between is another stream's
        assertThat(none.segment).isNotSameAs(before.segment);
        complete(two);
        final Tile both = allocate((32L << 20) - 2 * BLOCK, one); // fills the other segment
        assertThat(both.segment).isSameAs(none.segment);
        assertThat(allocate(5 * BLOCK / 2, one).address).isEqualTo(address);
        assertThat(allocate(BLOCK / 2, one).address).isEqualTo(address + 5 * BLOCK / 2);
    }
}
