package allocator.onnxruntime.block;

import allocator.provider.support.BriefLock;
import java.util.Arrays;
import java.util.NavigableMap;
import java.util.TreeMap;
import java.util.function.ToLongFunction;

/**
 * The sizes of blocks by their addresses. Allocates no object for a block.
 *
 * <p>Open addressing with linear probing in an array that holds an address and its size side by side, and of which no
 * more than half is full; address 0 marks an empty place. A removal moves the entries behind it up, so that none is
 * marked as deleted and none is ever unreachable: between an entry's own place and where it stands there is no empty
 * place. Several such tables, each with a lock, are chosen by a hash of the address.
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

    /** How many of the upper bits of the product choose the part. */
    private static final int PART_BITS = 4;

    /** Leaves the upper half of the product. Its lower bits are those of the address times a constant: mostly 0. */
    private static final int PLACE_SHIFT = Integer.SIZE;

    /** How many places of a table only blocks that are put back may fill. */
    private static final int SPARE = 8;

    final Part[] parts = new Part[1 << PART_BITS];

    /** Creates an empty table. */
    public BlockSizes() {
        Arrays.setAll(parts, i -> new Part());
    }

    static long hash(long address) {
        return address * SPREAD;
    }

    /** Returns the index at which an entry stands unless others stand there, in an array of so many longs. */
    static int home(long hash, int length) {
        return (2 * (int) (hash >>> PLACE_SHIFT)) & (length - 2);
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

    /** Returns whether there is a live block at an address. */
    public boolean contains(long address) {
        final long hash = hash(address);
        return part(hash).contains(address, hash);
    }

    /** Returns how many live blocks there are. */
    public int count() {
        return (int) sum(part -> part.count);
    }

    /** Returns how many blocks {@link #put} has added since the beginning. */
    public long added() {
        return sum(part -> part.added);
    }

    private long sum(ToLongFunction<Part> value) {
        long sum = 0;
        for (final Part part : parts) {
            sum += part.read(value);
        }
        return sum;
    }

    /** Returns the size of the largest block that {@link #put} has added since the beginning, 0 if there was none. */
    public long largest() {
        long largest = 0;
        for (final Part part : parts) {
            largest = Math.max(largest, part.read(one -> one.largest));
        }
        return largest;
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
            final long[] entries = part.entries();
            for (int i = 0; i < entries.length; i += 2) {
                if (entries[i] != 0) {
                    action.accept(entries[i], entries[i + 1]);
                }
            }
        }
    }

    /** A table, guarded by its lock. */
    static final class Part {
        private static final int NOT_FOUND = -1;

        /** For each place its address and, behind it, the size: both are on one cache line. */
        long[] entries = new long[2 * 2 * SPARE];

        private final BriefLock lock = new BriefLock();

        /** How many places are taken. */
        private int count;

        private long added;
        private long largest;

        void put(long address, long byteSize, long hash) {
            lock.lock();
            try {
                if (4 * (count + 1) > entries.length) {
                    tryGrow();
                }
                insert(entries, address, byteSize, hash);
                count++;
                added++;
                if (byteSize > largest) {
                    largest = byteSize;
                }
            } finally {
                lock.unlock();
            }
        }

        void putBack(long address, long byteSize, long hash) {
            lock.lock();
            try {
                if (2 * (count + 1) == entries.length) {
                    grow();
                }
                insert(entries, address, byteSize, hash);
                count++;
            } finally {
                lock.unlock();
            }
        }

        /** Doubles the table; without heap for it, the table stays as it is until only the spare places are left. */
        private void tryGrow() {
            try {
                grow();
            } catch (OutOfMemoryError e) {
                if (2 * (count + 1 + SPARE) > entries.length) {
                    throw e;
                }
            }
        }

        private void grow() {
            final long[] larger = new long[2 * entries.length];
            for (int from = 0; from < entries.length; from += 2) {
                if (entries[from] != 0) {
                    insert(larger, entries[from], entries[from + 1], hash(entries[from]));
                }
            }
            entries = larger;
        }

        /** Stores an entry in the first empty place from its own on. Calls nothing. */
        private static void insert(long[] entries, long address, long byteSize, long hash) {
            final int mask = entries.length - 2;
            int i = home(hash, entries.length);
            while (entries[i] != 0) {
                i = (i + 2) & mask;
            }
            entries[i + 1] = byteSize;
            entries[i] = address;
        }

        boolean contains(long address, long hash) {
            lock.lock();
            try {
                return find(entries, address, hash) != NOT_FOUND;
            } finally {
                lock.unlock();
            }
        }

        long remove(long address, long hash) {
            lock.lock();
            try {
                final int i = find(entries, address, hash);
                if (i == NOT_FOUND) {
                    return NONE;
                }
                final long byteSize = entries[i + 1];
                close(entries, i);
                count--;
                return byteSize;
            } finally {
                lock.unlock();
            }
        }

        /** Returns the index of an address, or {@link #NOT_FOUND}. */
        private static int find(long[] entries, long address, long hash) {
            final int mask = entries.length - 2;
            int i = home(hash, entries.length);
            while (entries[i] != address) {
                if (entries[i] == 0) {
                    return NOT_FOUND;
                }
                i = (i + 2) & mask;
            }
            return i;
        }

        /** Empties a place and moves up what stands behind it and would no longer be found. Calls nothing. */
        private static void close(long[] entries, int hole) {
            final int mask = entries.length - 2;
            int empty = hole;
            int i = (hole + 2) & mask;
            while (entries[i] != 0) {
                final int home =
                        (2 * (int) ((entries[i] * SPREAD) >>> PLACE_SHIFT)) & mask; // as home(), without a call
                // Whether the empty place lies between home and i, going round.
                if (((i - home) & mask) >= ((i - empty) & mask)) {
                    entries[empty] = entries[i];
                    entries[empty + 1] = entries[i + 1];
                    empty = i;
                }
                i = (i + 2) & mask;
            }
            entries[empty] = 0;
        }

        /** Returns one of the counts. */
        long read(ToLongFunction<Part> value) {
            lock.lock();
            try {
                return value.applyAsLong(this);
            } finally {
                lock.unlock();
            }
        }

        /** Returns a copy of {@link #entries}. */
        long[] entries() {
            lock.lock();
            try {
                return entries.clone();
            } finally {
                lock.unlock();
            }
        }
    }
}
