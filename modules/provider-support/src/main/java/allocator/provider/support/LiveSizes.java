package allocator.provider.support;

import java.util.Arrays;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Sizes of memory by start address. Not safe for use by several threads.
 *
 * <p>An entry made after {@link #ensureRoom} cannot fail: make room before the call that takes memory from a device,
 * and the memory is never lost because the Java heap has ended. Adding, finding and removing take constant time;
 * {@link #containing}, {@link #overlaps}, {@link #removeOverlapping} and {@link #forEach} take time proportional to the
 * number of entries. An entry takes 32 to 64 bytes of Java heap, in tables that shrink again: meant for memory taken
 * from a device, not for the blocks of an arena.
 */
public final class LiveSizes {
    /** What {@link #remove} and {@link #sizeOf} return where no memory starts. */
    public static final long NONE = -1;

    private static final int LEAST_SLOTS = 16;

    /** The golden ratio's fraction: spreads addresses, of which the low bits are mostly equal. */
    private static final long SPREAD = 0x9E37_79B9_7F4A_7C15L;

    /** Start addresses, in slots with linear probing; a slot is empty where its size is 0. */
    private long[] addresses = new long[LEAST_SLOTS];

    private long[] byteSizes = new long[LEAST_SLOTS];
    private int count;
    private long totalBytes;

    /** Creates an empty table. */
    public LiveSizes() {}

    /**
     * Makes room for one more entry, so that the next {@link #put} cannot fail.
     *
     * @throws OutOfMemoryError if the Java heap has no room; nothing changes
     */
    public void ensureRoom() {
        ensureRoom(1);
    }

    /**
     * Makes room for more entries, so that the next calls of {@link #put} cannot fail.
     *
     * @param more how many, not negative
     * @throws OutOfMemoryError if the Java heap has no room; nothing changes
     */
    public void ensureRoom(int more) {
        final int needed = count + more;
        final int slots = addresses.length;
        if (needed > slots / 2) {
            rehash(Math.max(Integer.highestOneBit(needed) * 4, LEAST_SLOTS));
        } else if (slots > LEAST_SLOTS && needed <= slots / 16) {
            shrink(Math.max(Integer.highestOneBit(needed) * 4, LEAST_SLOTS));
        }
    }

    private void shrink(int slots) {
        try {
            rehash(slots);
        } catch (OutOfMemoryError e) {
            // The table stays as large as it is.
        }
    }

    private void rehash(int slots) {
        final long[] newAddresses = new long[slots];
        final long[] newByteSizes = new long[slots];
        for (int i = 0; i < addresses.length; i++) {
            if (byteSizes[i] != 0) {
                final int slot = slot(newAddresses, newByteSizes, addresses[i]);
                newAddresses[slot] = addresses[i];
                newByteSizes[slot] = byteSizes[i];
            }
        }
        addresses = newAddresses;
        byteSizes = newByteSizes;
    }

    /** Returns the upper bits of a product, in which every bit of the address counts. */
    private static int home(long address, int slots) {
        return (int) ((address * SPREAD) >>> (Long.numberOfLeadingZeros(slots) + 1));
    }

    /** Returns the most slots that a lookup of an address in the table visits. */
    int mostProbes() {
        final int mask = addresses.length - 1;
        int most = 0;
        for (int i = 0; i <= mask; i++) {
            if (byteSizes[i] != 0) {
                most = Math.max(most, ((i - home(addresses[i], addresses.length)) & mask) + 1);
            }
        }
        return most;
    }

    /** Returns the slot of an address, or the empty slot where it would be. */
    private static int slot(long[] addresses, long[] byteSizes, long address) {
        int slot = home(address, addresses.length);
        while (byteSizes[slot] != 0 && addresses[slot] != address) {
            slot = (slot + 1) & (addresses.length - 1);
        }
        return slot;
    }

    /**
     * Adds memory, or changes its size.
     *
     * @param address first byte
     * @param byteSize size in bytes, above zero
     * @throws IllegalArgumentException if the size is not above zero; nothing changes
     * @throws OutOfMemoryError if there is no room and the Java heap has none; nothing changes
     */
    public void put(long address, long byteSize) {
        if (byteSize <= 0) {
            throw new IllegalArgumentException("a size of " + byteSize + " bytes; it must be above zero");
        }
        if (count == addresses.length / 2) {
            ensureRoom();
        }
        final int slot = slot(addresses, byteSizes, address);
        if (byteSizes[slot] == 0) {
            count++;
        }
        totalBytes += byteSize - byteSizes[slot];
        addresses[slot] = address;
        byteSizes[slot] = byteSize;
    }

    /**
     * Removes the memory that starts at an address.
     *
     * @param address first byte
     * @return its size in bytes, {@link #NONE} if no memory starts there
     */
    public long remove(long address) {
        final int slot = slot(addresses, byteSizes, address);
        final long byteSize = byteSizes[slot];
        if (byteSize == 0) {
            return NONE;
        }
        empty(slot);
        count--;
        totalBytes -= byteSize;
        return byteSize;
    }

    /** Empties a slot, and closes the gap so that every entry is found from its home on. */
    private void empty(int slot) {
        final int mask = addresses.length - 1;
        int gap = slot;
        for (int next = (gap + 1) & mask; byteSizes[next] != 0; next = (next + 1) & mask) {
            final int home = home(addresses[next], addresses.length);
            if (((next - home) & mask) >= ((next - gap) & mask)) {
                addresses[gap] = addresses[next];
                byteSizes[gap] = byteSizes[next];
                gap = next;
            }
        }
        byteSizes[gap] = 0;
    }

    /**
     * Returns the size of the memory that starts at an address.
     *
     * @param address first byte
     * @return its size in bytes, {@link #NONE} if no memory starts there
     */
    public long sizeOf(long address) {
        final long byteSize = byteSizes[slot(addresses, byteSizes, address)];
        return byteSize == 0 ? NONE : byteSize;
    }

    /**
     * Returns the memory that an address lies in.
     *
     * @param address any address
     * @return start and size, {@code null} if it lies in none
     */
    public Map.@Nullable Entry<Long, Long> containing(long address) {
        for (int i = 0; i < addresses.length; i++) {
            if (byteSizes[i] != 0 && Long.compareUnsigned(address - addresses[i], byteSizes[i]) < 0) {
                return Map.entry(addresses[i], byteSizes[i]);
            }
        }
        return null;
    }

    /**
     * Removes all memory that overlaps a range.
     *
     * @param address first byte of the range
     * @param byteSize size of the range in bytes, above zero
     * @return bytes removed
     */
    public long removeOverlapping(long address, long byteSize) {
        long bytes = 0;
        int slot = overlapping(address, byteSize);
        while (slot >= 0) {
            bytes += remove(addresses[slot]);
            slot = overlapping(address, byteSize); // entries may have moved to earlier slots
        }
        return bytes;
    }

    /**
     * Returns whether memory overlaps a range. Takes nothing from the Java heap.
     *
     * @param address first byte of the range
     * @param byteSize size of the range in bytes, above zero
     * @return true if an entry has a byte of the range
     */
    public boolean overlaps(long address, long byteSize) {
        return overlapping(address, byteSize) >= 0;
    }

    /** Returns the first slot whose memory overlaps a range, -1 if there is none. */
    private int overlapping(long address, long byteSize) {
        for (int i = 0; count > 0 && i < addresses.length; i++) {
            if (byteSizes[i] != 0
                    && (Long.compareUnsigned(address - addresses[i], byteSizes[i]) < 0
                            || Long.compareUnsigned(addresses[i] - address, byteSize) < 0)) {
                return i;
            }
        }
        return -1;
    }

    /**
     * Returns whether there is no entry.
     *
     * @return true if {@link #count} is zero
     */
    public boolean isEmpty() {
        return count == 0;
    }

    /**
     * Returns how many entries there are.
     *
     * @return the number of start addresses
     */
    public int count() {
        return count;
    }

    /**
     * Returns the sum of all sizes.
     *
     * @return bytes
     */
    public long totalBytes() {
        return totalBytes;
    }

    /** What {@link #forEach} does with an entry. It takes numbers as they are, since objects would take Java heap. */
    @FunctionalInterface
    public interface Action {
        /**
         * Called with an entry.
         *
         * @param address first byte
         * @param byteSize size in bytes
         */
        void accept(long address, long byteSize);
    }

    /**
     * Calls an action with address and size of each entry, in unsigned order of addresses. Once the first call is made,
     * nothing more is taken from the Java heap.
     *
     * @param action may change this table; changes do not affect the iteration
     * @throws OutOfMemoryError if the Java heap has no room for a copy of the entries; nothing was called
     */
    public void forEach(Action action) {
        final long[] inOrder = addresses();
        final long[] sizes = new long[inOrder.length];
        for (int i = 0; i < inOrder.length; i++) {
            sizes[i] = sizeOf(inOrder[i]);
        }
        for (int i = 0; i < inOrder.length; i++) {
            action.accept(inOrder[i], sizes[i]);
        }
    }

    /** Returns the address of each entry, in unsigned order. */
    long[] addresses() {
        final long[] inOrder = new long[count];
        int filled = 0;
        for (int i = 0; i < addresses.length; i++) {
            if (byteSizes[i] != 0) {
                inOrder[filled++] = addresses[i] ^ Long.MIN_VALUE;
            }
        }
        Arrays.sort(inOrder);
        for (int i = 0; i < filled; i++) {
            inOrder[i] ^= Long.MIN_VALUE;
        }
        return inOrder;
    }

    /**
     * Adds the entries of another table. After {@link #ensureRoom} for their number it cannot fail.
     *
     * @param others the other table
     */
    public void putAll(LiveSizes others) {
        for (int i = 0; i < others.addresses.length; i++) {
            if (others.byteSizes[i] != 0) {
                put(others.addresses[i], others.byteSizes[i]);
            }
        }
    }

    /** Removes all entries. */
    public void clear() {
        Arrays.fill(byteSizes, 0);
        count = 0;
        totalBytes = 0;
    }

    /**
     * Returns the Java heap that this table takes.
     *
     * @return bytes, approximately
     */
    public long heapBytes() {
        return 80 + 2L * Long.BYTES * addresses.length;
    }
}
