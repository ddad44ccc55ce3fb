package allocator.cuda.memory;

import allocator.provider.support.LiveSizes;
import allocator.spi.AllocatorSnapshot.Chunk;
import allocator.spi.AllocatorSnapshot.State;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Blocks of a pool by address: size and stream of each. Not safe for use by several threads.
 *
 * <p>Open addressing in parallel arrays with linear probing, at most half full. Removing closes the gap at once, so
 * that there are no marks of the dead to probe past. Only {@link #ensureRoom} allocates; it makes the table smaller as
 * well. After it the next calls of {@link #add} cannot fail.
 *
 * <p>Address {@code 0} is an empty slot. A handle is the index of a slot, valid until the next change.
 */
final class BlockTable {
    static final int NONE = -1;

    private static final int LEAST_SLOTS = 16;

    /** The fractional part of the golden ratio, which spreads neighbouring addresses far. */
    private static final long SPREAD = 0x9E37_79B9_7F4A_7C15L;

    private long[] addresses = new long[LEAST_SLOTS];
    private long[] sizes = new long[LEAST_SLOTS];
    private @Nullable CudaSyncStream[] streams = new CudaSyncStream[LEAST_SLOTS];
    private int count;

    /** The blocks in the order of their addresses, {@code null} where nothing asks what overlaps a range. */
    private final @Nullable LiveSizes order;

    /**
     * Creates an empty table.
     *
     * @param isInOrder whether {@link #removeOverlapping} may be called, which takes a second, ordered table
     */
    BlockTable(boolean isInOrder) {
        order = isInOrder ? new LiveSizes() : null;
    }

    private static int home(long address, int slots) {
        return (int) ((address * SPREAD) >>> Long.numberOfLeadingZeros(slots - 1L));
    }

    int count() {
        return count;
    }

    /** The handle of a block, {@link #NONE} if there is none at this address. */
    int find(long address) {
        final long[] table = addresses;
        final int mask = table.length - 1;
        for (int slot = home(address, table.length); ; slot = (slot + 1) & mask) {
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

    /**
     * Makes room for more blocks. If the Java heap has none, nothing changes.
     *
     * @param more how many, not negative
     */
    void ensureRoom(int more) {
        final int needed = count + more;
        final int slots = addresses.length;
        if (order != null) {
            order.ensureRoom(more);
        }
        if (needed > slots / 2) {
            rehash(Math.max(Integer.highestOneBit(needed) * 4, LEAST_SLOTS));
        } else if (slots > LEAST_SLOTS && needed <= slots / 16) {
            rehash(slots / 4);
        }
    }

    private void rehash(int slots) {
        final long[] newAddresses = new long[slots];
        final long[] newSizes = new long[slots];
        final @Nullable CudaSyncStream[] newStreams = new CudaSyncStream[slots];
        for (int slot = 0; slot < addresses.length; slot++) {
            if (addresses[slot] != 0) {
                final int free = freeSlot(newAddresses, addresses[slot]);
                newAddresses[free] = addresses[slot];
                newSizes[free] = sizes[slot];
                newStreams[free] = streams[slot];
            }
        }
        addresses = newAddresses;
        sizes = newSizes;
        streams = newStreams;
    }

    private static int freeSlot(long[] addresses, long address) {
        int slot = home(address, addresses.length);
        while (addresses[slot] != 0) {
            slot = (slot + 1) & (addresses.length - 1);
        }
        return slot;
    }

    /** Adds a block at an address that has none, for which there is room. */
    void add(long address, long byteSize, @Nullable CudaSyncStream stream) {
        assert count < addresses.length / 2 : "no room was made";
        final int slot = freeSlot(addresses, address);
        addresses[slot] = address;
        sizes[slot] = byteSize;
        streams[slot] = stream;
        count++;
        if (order != null) {
            order.put(address, byteSize);
        }
    }

    /** Removes a block and moves later ones up, as far as they may lie nearer to their home. */
    void remove(int handle) {
        if (order != null) {
            order.remove(addresses[handle]);
        }
        final int mask = addresses.length - 1;
        int gap = handle;
        for (int slot = (gap + 1) & mask; addresses[slot] != 0; slot = (slot + 1) & mask) {
            final int distance = (slot - home(addresses[slot], addresses.length)) & mask;
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

    /** Removes all blocks that overlap a range. */
    void removeOverlapping(long address, long byteSize) {
        final LiveSizes inOrder = Objects.requireNonNull(order, "not a table in order");
        long start = inOrder.overlapping(address, byteSize);
        while (start != LiveSizes.NONE) {
            remove(find(start));
            start = inOrder.overlapping(address, byteSize);
        }
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

    /** A copy of the blocks, without their order. */
    BlockTable copy() {
        final BlockTable copy = new BlockTable(false);
        copy.addresses = addresses.clone();
        copy.sizes = sizes.clone();
        copy.streams = streams.clone();
        copy.count = count;
        return copy;
    }

    /** Adds all blocks to a list, as chunks in a state. */
    void addTo(List<Chunk> chunks, State state) {
        for (int slot = 0; slot < addresses.length; slot++) {
            if (addresses[slot] != 0) {
                final CudaSyncStream stream = streams[slot];
                chunks.add(new Chunk(
                        addresses[slot],
                        sizes[slot],
                        state == State.LIVE ? sizes[slot] : 0,
                        state,
                        stream == null ? 0 : stream.id()));
            }
        }
    }

    /** The addresses of all blocks. */
    long[] all() {
        return Arrays.stream(addresses).filter(address -> address != 0).toArray();
    }
}
