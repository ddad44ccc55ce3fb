package allocator.cuda.memory;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * The live blocks of a pool, by address: size and stream of each. Not safe for use by several threads.
 *
 * <p>Open addressing in parallel arrays with linear probing, at most half full. Removing closes the gap at once, so
 * that there are no marks of the dead to probe past. Nothing is allocated except to grow.
 *
 * <p>Address {@code 0} is an empty slot. A handle is the index of a slot, valid until the next change.
 */
final class BlockTable {
    static final int NONE = -1;

    private static final int MIN_CAPACITY = 256;

    /** The fractional part of the golden ratio, which spreads neighbouring addresses far. */
    private static final long SPREAD = 0x9E37_79B9_7F4A_7C15L;

    private long[] addresses = new long[MIN_CAPACITY];
    private long[] sizes = new long[MIN_CAPACITY];
    private @Nullable CudaSyncStream[] streams = new CudaSyncStream[MIN_CAPACITY];
    private int count;

    private int home(long address) {
        return (int) ((address * SPREAD) >>> Long.numberOfLeadingZeros(addresses.length - 1L));
    }

    int count() {
        return count;
    }

    /** The handle of a block, {@link #NONE} if there is none at this address. */
    int find(long address) {
        final long[] table = addresses;
        final int mask = table.length - 1;
        for (int slot = home(address); ; slot = (slot + 1) & mask) {
            if (table[slot] == address) {
                return slot;
            }
            if (table[slot] == 0) {
                return NONE;
            }
        }
    }

    long size(int handle) {
        return sizes[handle];
    }

    /** The stream that the block was allocated on, {@code null} for none. */
    @Nullable
    CudaSyncStream stream(int handle) {
        return streams[handle];
    }

    /** Adds a block at an address that has none. */
    void add(long address, long byteSize, @Nullable CudaSyncStream stream) {
        if (2 * (count + 1) > addresses.length) {
            grow();
        }
        insert(address, byteSize, stream);
        count++;
    }

    private void insert(long address, long byteSize, @Nullable CudaSyncStream stream) {
        final int mask = addresses.length - 1;
        int slot = home(address);
        while (addresses[slot] != 0) {
            slot = (slot + 1) & mask;
        }
        addresses[slot] = address;
        sizes[slot] = byteSize;
        streams[slot] = stream;
    }

    private void grow() {
        final long[] oldAddresses = addresses;
        final long[] oldSizes = sizes;
        final @Nullable CudaSyncStream[] oldStreams = streams;
        final int capacity = 2 * oldAddresses.length;
        final long[] newSizes = new long[capacity];
        final @Nullable CudaSyncStream[] newStreams = new CudaSyncStream[capacity];
        addresses = new long[capacity];
        sizes = newSizes;
        streams = newStreams;
        for (int slot = 0; slot < oldAddresses.length; slot++) {
            if (oldAddresses[slot] != 0) {
                insert(oldAddresses[slot], oldSizes[slot], oldStreams[slot]);
            }
        }
    }

    /** Removes a block and moves later ones up, as far as they may lie nearer to their home. */
    void remove(int handle) {
        final int mask = addresses.length - 1;
        int gap = handle;
        for (int slot = (gap + 1) & mask; addresses[slot] != 0; slot = (slot + 1) & mask) {
            final int distance = (slot - home(addresses[slot])) & mask;
            if (distance >= ((slot - gap) & mask)) {
                addresses[gap] = addresses[slot];
                sizes[gap] = sizes[slot];
                streams[gap] = streams[slot];
                gap = slot;
            }
        }
        addresses[gap] = 0;
        streams[gap] = null;
        count--;
    }

    /** The address of the block that an address lies in, {@code 0} if there is none. Looks at every block. */
    long startOf(long address) {
        for (int slot = 0; slot < addresses.length; slot++) {
            if (addresses[slot] != 0 && address - addresses[slot] >= 0 && address - addresses[slot] < sizes[slot]) {
                return addresses[slot];
            }
        }
        return 0;
    }

    /** The addresses of all blocks. */
    long[] all() {
        return Arrays.stream(addresses).filter(address -> address != 0).toArray();
    }
}
