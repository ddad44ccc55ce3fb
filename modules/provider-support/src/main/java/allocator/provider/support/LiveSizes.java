package allocator.provider.support;

import java.util.Arrays;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Sizes of memory by start address, in order. No two entries overlap; where two did, {@link #containing},
 * {@link #overlapping} and {@link #removeOverlapping} might miss one of them. Not safe for use by several threads.
 *
 * <p>An entry made after {@link #ensureRoom} cannot fail: make room before the call that takes memory from a device,
 * and the memory is never lost because the Java heap has ended. Every operation on one entry takes time logarithmic in
 * the number of entries. An entry takes 24 to 192 bytes of Java heap, in tables that shrink again: meant for memory
 * taken from a device, not for the blocks of an arena.
 */
public final class LiveSizes {
    /*
     * A treap: a binary tree in the unsigned order of addresses, and a heap by their ranks, which are spread so well
     * that the tree is as deep as one with entries in random order.
     *
     * Node 0 is none. The nodes 1 to count are in use; links[2 * node] leads to the lesser ones below a node,
     * links[2 * node + 1] to the greater ones, and links[ROOT] to the root.
     */

    /** What {@link #remove} and {@link #sizeOf} return where no memory starts. */
    public static final long NONE = -1;

    private static final int LEAST_NODES = 16;
    private static final int ROOT = 1;

    /** The golden ratio's fraction: spreads addresses, of which the low bits are mostly equal. */
    private static final long SPREAD = 0x9E37_79B9_7F4A_7C15L;

    private long[] addresses = new long[LEAST_NODES];
    private long[] byteSizes = new long[LEAST_NODES];
    private int[] links = new int[2 * LEAST_NODES];
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
        final int needed = count + more + 1;
        final int nodes = addresses.length;
        if (needed > nodes) {
            resize(Integer.highestOneBit(needed) * 2);
        } else if (nodes > LEAST_NODES && needed <= nodes / 8) {
            shrink(Math.max(Integer.highestOneBit(needed) * 2, LEAST_NODES));
        }
    }

    private void shrink(int nodes) {
        try {
            resize(nodes);
        } catch (OutOfMemoryError e) {
            // The table stays as large as it is.
        }
    }

    private void resize(int nodes) {
        final long[] newAddresses = Arrays.copyOf(addresses, nodes);
        final long[] newByteSizes = Arrays.copyOf(byteSizes, nodes);
        links = Arrays.copyOf(links, 2 * nodes);
        addresses = newAddresses;
        byteSizes = newByteSizes;
    }

    /** Returns an address's rank, in which every bit of the address counts. */
    private static long rank(long address) {
        final long spread = (address ^ (address >>> Integer.SIZE)) * SPREAD;
        return (spread ^ (spread >>> Integer.SIZE)) * SPREAD;
    }

    /** Returns how many nodes the tables have room for. */
    int capacity() {
        return addresses.length;
    }

    /** Returns the most nodes that a lookup visits. */
    int depth() {
        int most = 0;
        for (int node = 1; node <= count; node++) {
            int depth = 1;
            for (int at = links[ROOT]; at != node; at = links[link(at, addresses[node])]) {
                depth++;
            }
            most = Math.max(most, depth);
        }
        return most;
    }

    /** Returns the link from a node towards another address. */
    private int link(int node, long address) {
        return Long.compareUnsigned(address, addresses[node]) < 0 ? 2 * node : 2 * node + 1;
    }

    /** Returns the link to the node of an address, or the empty one where it ends. */
    private int find(long address) {
        int link = ROOT;
        for (int at = links[link]; at != 0 && addresses[at] != address; at = links[link]) {
            link = link(at, address);
        }
        return link;
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
        final int known = links[find(address)];
        if (known != 0) {
            totalBytes += byteSize - byteSizes[known];
            byteSizes[known] = byteSize;
            return;
        }
        if (count + 1 == addresses.length) {
            ensureRoom();
        }
        count++;
        totalBytes += byteSize;
        addresses[count] = address;
        byteSizes[count] = byteSize;
        insert(count, address);
    }

    /** Links a node in above the first one of a lesser rank, whose tree it splits. */
    private void insert(int node, long address) {
        final long rank = rank(address);
        int link = ROOT;
        while (links[link] != 0 && rank(addresses[links[link]]) >= rank) {
            link = link(links[link], address);
        }
        int at = links[link];
        links[link] = node;
        int lesser = 2 * node;
        int greater = 2 * node + 1;
        while (at != 0) {
            if (Long.compareUnsigned(addresses[at], address) < 0) {
                links[lesser] = at;
                lesser = 2 * at + 1;
                at = links[lesser];
            } else {
                links[greater] = at;
                greater = 2 * at;
                at = links[greater];
            }
        }
        links[lesser] = 0;
        links[greater] = 0;
    }

    /**
     * Removes the memory that starts at an address.
     *
     * @param address first byte
     * @return its size in bytes, {@link #NONE} if no memory starts there
     */
    public long remove(long address) {
        final int link = find(address);
        final int node = links[link];
        if (node == 0) {
            return NONE;
        }
        final long byteSize = byteSizes[node];
        unlink(link, node);
        if (node != count) {
            move(count, node);
        }
        count--;
        totalBytes -= byteSize;
        return byteSize;
    }

    /** Puts the two trees below a node in its place, joined. */
    private void unlink(int from, int node) {
        int link = from;
        int lesser = links[2 * node];
        int greater = links[2 * node + 1];
        while (lesser != 0 && greater != 0) {
            if (rank(addresses[lesser]) >= rank(addresses[greater])) {
                links[link] = lesser;
                link = 2 * lesser + 1;
                lesser = links[link];
            } else {
                links[link] = greater;
                link = 2 * greater;
                greater = links[link];
            }
        }
        links[link] = lesser != 0 ? lesser : greater;
    }

    private void move(int node, int to) {
        links[find(addresses[node])] = to;
        links[2 * to] = links[2 * node];
        links[2 * to + 1] = links[2 * node + 1];
        addresses[to] = addresses[node];
        byteSizes[to] = byteSizes[node];
    }

    /**
     * Returns the size of the memory that starts at an address.
     *
     * @param address first byte
     * @return its size in bytes, {@link #NONE} if no memory starts there
     */
    public long sizeOf(long address) {
        final int node = links[find(address)];
        return node == 0 ? NONE : byteSizes[node];
    }

    /**
     * Returns the memory that an address lies in.
     *
     * @param address any address
     * @return start and size, {@code null} if it lies in none
     */
    public Map.@Nullable Entry<Long, Long> containing(long address) {
        final int node = nodeIn(address, 1);
        return node == 0 ? null : Map.entry(addresses[node], byteSizes[node]);
    }

    /**
     * Removes all memory that overlaps a range. Takes nothing from the Java heap.
     *
     * @param address first byte of the range
     * @param byteSize size of the range in bytes, above zero
     * @return bytes removed
     */
    public long removeOverlapping(long address, long byteSize) {
        long bytes = 0;
        for (int node = nodeIn(address, byteSize); node != 0; node = nodeIn(address, byteSize)) {
            bytes += remove(addresses[node]);
        }
        return bytes;
    }

    /**
     * Returns where memory starts that overlaps a range. Takes nothing from the Java heap.
     *
     * @param address first byte of the range
     * @param byteSize size of the range in bytes, above zero
     * @return the start of an entry that has a byte of the range, {@link #NONE} if there is none
     */
    public long overlapping(long address, long byteSize) {
        final int node = nodeIn(address, byteSize);
        return node == 0 ? NONE : addresses[node];
    }

    /** Returns a node whose memory overlaps a range, 0 if there is none. */
    private int nodeIn(long address, long byteSize) {
        int before = 0;
        int after = 0;
        for (int at = links[ROOT]; at != 0; ) {
            if (Long.compareUnsigned(addresses[at], address) <= 0) {
                before = at;
                at = links[2 * at + 1];
            } else {
                after = at;
                at = links[2 * at];
            }
        }
        if (before != 0 && Long.compareUnsigned(address - addresses[before], byteSizes[before]) < 0) {
            return before;
        }
        return after != 0 && Long.compareUnsigned(addresses[after] - address, byteSize) < 0 ? after : 0;
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

    /** Returns a copy: the addresses, and the sizes in the same order, which is none. */
    long[][] copy() {
        return new long[][] {Arrays.copyOfRange(addresses, 1, count + 1), Arrays.copyOfRange(byteSizes, 1, count + 1)};
    }

    /** Returns the address of each entry, in unsigned order. */
    long[] addresses() {
        final long[] inOrder = new long[count];
        for (int i = 0; i < count; i++) {
            inOrder[i] = addresses[i + 1] ^ Long.MIN_VALUE;
        }
        Arrays.sort(inOrder);
        for (int i = 0; i < count; i++) {
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
        for (int node = 1; node <= others.count; node++) {
            put(others.addresses[node], others.byteSizes[node]);
        }
    }

    /** Removes all entries. */
    public void clear() {
        links[ROOT] = 0;
        count = 0;
        totalBytes = 0;
    }
}
