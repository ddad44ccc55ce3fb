package allocator.arena.bump;

import allocator.provider.support.Limit;
import allocator.spi.Allocator;
import allocator.spi.DeviceException;
import allocator.spi.OutOfMemoryException;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/** The live blocks that a {@link BumpArena} took from its fallback allocator, in order of allocation. */
final class FallbackBlocks {
    private final UpstreamMemory memory;
    private long[] addresses = new long[4];
    private long[] sizes = new long[4];
    private long[] generations = new long[4];
    private int count;
    private long byteSize;

    FallbackBlocks(Allocator fallback) {
        memory = new UpstreamMemory(fallback, Limit.NONE);
    }

    int count() {
        return count;
    }

    /** Returns the sum of the blocks' sizes. */
    long byteSize() {
        return byteSize;
    }

    /** Returns the alignment of every block, in bytes. */
    long byteAlignment() {
        return memory.info().byteAlignment();
    }

    /**
     * Allocates a block.
     *
     * @throws OutOfMemoryException if the fallback allocator is out of memory
     */
    long allocate(long wantedSize, long generation) {
        if (count == addresses.length) {
            addresses = Arrays.copyOf(addresses, 2 * count);
            sizes = Arrays.copyOf(sizes, 2 * count);
            generations = Arrays.copyOf(generations, 2 * count);
        }
        final long address = memory.take(wantedSize);
        addresses[count] = address;
        sizes[count] = wantedSize;
        generations[count] = generation;
        count++;
        byteSize += wantedSize;
        return address;
    }

    /** Returns the generation in which the block that contains an address was allocated; {@code -1} if none does. */
    long generationAt(long address) {
        for (int i = 0; i < count; i++) {
            final long offset = address - addresses[i];
            if (offset >= 0 && offset < sizes[i]) {
                return generations[i];
            }
        }
        return -1;
    }

    /** Frees all but the first {@code keep} blocks. Returns the last failure of the fallback allocator, if any. */
    @Nullable
    DeviceException freeFrom(int keep) {
        DeviceException failure = null;
        while (count > keep) {
            count--;
            byteSize -= sizes[count];
            final DeviceException one = memory.giveBack(addresses[count], sizes[count]);
            failure = one == null ? failure : one;
        }
        return failure;
    }
}
