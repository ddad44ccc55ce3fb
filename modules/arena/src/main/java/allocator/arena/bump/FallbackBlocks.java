package allocator.arena.bump;

import allocator.provider.support.Failures;
import allocator.provider.support.Limit;
import allocator.spi.Allocator;
import allocator.spi.OutOfMemoryException;
import java.util.Arrays;

/** The live blocks that a {@link BumpArena} took from its fallback allocator, in order of allocation. */
final class FallbackBlocks {
    private final UpstreamMemory memory;
    private static final int LEAST_LENGTH = 4;

    private long[] addresses = new long[LEAST_LENGTH];
    private long[] sizes = new long[LEAST_LENGTH];
    private long[] generations = new long[LEAST_LENGTH];
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
            resizeTables(2 * count);
        }
        final long address = memory.take(wantedSize);
        addresses[count] = address;
        sizes[count] = wantedSize;
        generations[count] = generation;
        count++;
        byteSize += wantedSize;
        return address;
    }

    private void resizeTables(int length) {
        final long[] newAddresses = Arrays.copyOf(addresses, length);
        final long[] newSizes = Arrays.copyOf(sizes, length);
        final long[] newGenerations = Arrays.copyOf(generations, length);
        addresses = newAddresses;
        sizes = newSizes;
        generations = newGenerations;
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

    /**
     * Prepares to free all but the first {@code keep} blocks, see {@link UpstreamMemory#prepareReturns}, and tries
     * again to return what the fallback allocator failed to take back. Whatever it throws is added to {@code failures}.
     */
    void prepareFreeFrom(int keep, Failures failures) {
        memory.returnAgain(failures);
        if (count > keep) {
            memory.prepareReturns(count - keep);
        }
    }

    /**
     * Frees all but the first {@code keep} blocks, and halves the tables if few are left. Whatever the fallback
     * allocator throws is added to {@code failures}.
     */
    void freeFrom(int keep, Failures failures) {
        while (count > keep) {
            count--;
            byteSize -= sizes[count];
            failures.add(memory.giveBack(addresses[count], sizes[count]));
        }
        memory.endReturns();
        if (addresses.length > LEAST_LENGTH && count < addresses.length / 8) {
            shrinkTables();
        }
    }

    private void shrinkTables() {
        try {
            resizeTables(addresses.length / 2);
        } catch (OutOfMemoryError e) {
            // The tables stay as large as they are.
        }
    }

    /** Returns how many blocks the tables have room for. */
    int length() {
        return addresses.length;
    }
}
