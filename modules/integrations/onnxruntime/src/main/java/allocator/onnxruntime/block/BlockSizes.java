package allocator.onnxruntime.block;

import java.util.Arrays;
import java.util.NavigableMap;
import java.util.TreeMap;

/**
 * The sizes of blocks by their addresses. Allocates no object for a block.
 *
 * <p>Open addressing with linear probing in two parallel arrays, of which no more than half is full; address 0 marks an
 * empty place. A removal moves the entries behind it up, so that none is marked as deleted and none is ever
 * unreachable: between an entry's own place and where it stands there is no empty place. Several such tables, each with
 * a lock, are chosen by a hash of the address.
 *
 * <p>A call that throws, for want of stack or heap, has changed nothing: room is made first, no call divides the stores
 * of a change, and the callers {@linkplain allocator.provider.support.StackReserve#touchBriefly touch the stack}. If
 * the heap has ended, a table gets fuller than half instead of larger. {@link #put} leaves {@value #SPARE} places of
 * each table empty, for blocks that are put back: every thread that frees needs the place that it emptied itself.
 */
public final class BlockSizes {
    /** What {@link #remove} returns for an address that is not live. */
    public static final long NONE = -1;

    /** Visits blocks. */
    public interface BlockVisitor {
        /** Visits a block. */
        void accept(long address, long byteSize);
    }

    /** Multiplied with an address it spreads the lower bits, which are mostly equal, over the upper ones. */
    private static final long SPREAD = 0x9E3779B97F4A7C15L;

    /** How many of the upper bits of the product choose the part; the bits below choose the place in it. */
    private static final int PART_BITS = 4;

    /** How many places of a table only blocks that are put back may fill. */
    private static final int SPARE = 8;

    final Part[] parts = new Part[1 << PART_BITS];

    /** Creates an empty table. */
    public BlockSizes() {
        Arrays.setAll(parts, i -> new Part());
    }

    private static long hash(long address) {
        return address * SPREAD;
    }

    private Part part(long hash) {
        return parts[(int) (hash >>> (Long.SIZE - PART_BITS))];
    }

    /**
     * Adds a live block, whose address is not 0.
     *
     * @throws OutOfMemoryError if a table is full and cannot grow; nothing changes
     */
    public void put(long address, long byteSize) {
        final long hash = hash(address);
        part(hash).put(address, byteSize, hash);
    }

    /**
     * Adds a live block again that the calling thread has just removed, in the place that it left or a spare one.
     *
     * @throws OutOfMemoryError if other threads have taken all of them, and the table cannot grow; nothing changes
     */
    public void putBack(long address, long byteSize) {
        final long hash = hash(address);
        part(hash).putBack(address, byteSize, hash);
    }

    /** Removes a live block and returns its size, or {@link #NONE} if there is none at the address. */
    public long remove(long address) {
        final long hash = hash(address);
        return part(hash).remove(address, hash);
    }

    /** Returns how many live blocks there are. */
    public int count() {
        int sum = 0;
        for (final Part part : parts) {
            sum += part.count();
        }
        return sum;
    }

    /** Returns how many blocks {@link #put} has added since the beginning. */
    public long added() {
        long sum = 0;
        for (final Part part : parts) {
            sum += part.added();
        }
        return sum;
    }

    /** Returns how many live blocks there are of each size. */
    public NavigableMap<Long, Integer> countBySize() {
        final NavigableMap<Long, Integer> counts = new TreeMap<>();
        forEach((address, byteSize) -> counts.merge(byteSize, 1, Integer::sum));
        return counts;
    }

    /** Calls {@code action} with address and size of each live block. */
    public void forEach(BlockVisitor action) {
        for (final Part part : parts) {
            part.forEach(action);
        }
    }

    /** A table, guarded by its monitor. */
    static final class Part {
        long[] addresses = new long[2 * SPARE];
        private long[] sizes = new long[2 * SPARE];

        /** How many places are taken. */
        private int count;

        private long added;

        synchronized void put(long address, long byteSize, long hash) {
            if (2 * (count + 1) > addresses.length) {
                tryGrow();
            }
            putBack(address, byteSize, hash);
            added++;
        }

        synchronized void putBack(long address, long byteSize, long hash) {
            if (count + 1 == addresses.length) {
                grow();
            }
            final int mask = addresses.length - 1;
            int i = (int) (hash >>> PART_BITS) & mask;
            while (addresses[i] != 0) {
                i = (i + 1) & mask;
            }
            sizes[i] = byteSize;
            addresses[i] = address;
            count++;
        }

        /** Doubles the table; without heap for it, the table stays as it is until only the spare places are left. */
        private void tryGrow() {
            try {
                grow();
            } catch (OutOfMemoryError e) {
                if (count + 1 + SPARE > addresses.length) {
                    throw e;
                }
            }
        }

        private void grow() {
            final long[] newAddresses = new long[2 * addresses.length];
            final long[] newSizes = new long[2 * addresses.length];
            final int mask = newAddresses.length - 1;
            for (int from = 0; from < addresses.length; from++) {
                if (addresses[from] != 0) {
                    int i = (int) (hash(addresses[from]) >>> PART_BITS) & mask;
                    while (newAddresses[i] != 0) {
                        i = (i + 1) & mask;
                    }
                    newAddresses[i] = addresses[from];
                    newSizes[i] = sizes[from];
                }
            }
            addresses = newAddresses;
            sizes = newSizes;
        }

        synchronized long remove(long address, long hash) {
            final int mask = addresses.length - 1;
            int i = (int) (hash >>> PART_BITS) & mask;
            while (addresses[i] != address) {
                if (addresses[i] == 0) {
                    return NONE;
                }
                i = (i + 1) & mask;
            }
            final long byteSize = sizes[i];
            close(i);
            return byteSize;
        }

        /** Empties a place and moves up what stands behind it and would no longer be found. Calls nothing. */
        private void close(int hole) {
            final int mask = addresses.length - 1;
            int empty = hole;
            int i = (hole + 1) & mask;
            while (addresses[i] != 0) {
                final int home = (int) ((addresses[i] * SPREAD) >>> PART_BITS) & mask;
                // Whether the empty place lies between home and i, going round.
                if (((i - home) & mask) >= ((i - empty) & mask)) {
                    addresses[empty] = addresses[i];
                    sizes[empty] = sizes[i];
                    empty = i;
                }
                i = (i + 1) & mask;
            }
            addresses[empty] = 0;
            count--;
        }

        synchronized int count() {
            return count;
        }

        synchronized long added() {
            return added;
        }

        synchronized void forEach(BlockVisitor action) {
            for (int i = 0; i < addresses.length; i++) {
                if (addresses[i] != 0) {
                    action.accept(addresses[i], sizes[i]);
                }
            }
        }
    }
}
