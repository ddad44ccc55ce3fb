package allocator.onnxruntime;

import java.util.Arrays;
import java.util.NavigableMap;
import java.util.TreeMap;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The sizes of live blocks by their addresses. Allocates no object for a block.
 *
 * <p>Open addressing with linear probing in two parallel arrays, of which no more than half is full; address 0 marks an
 * empty place. A removal moves the entries behind it up, so that none is marked as deleted and none is ever
 * unreachable: between an entry's own place and where it stands there is no empty place. Several such tables, each with
 * a lock, are chosen by a hash of the address.
 */
final class BlockSizes {
    /** What {@link #remove} returns for an address that is not live. */
    static final long NONE = -1;

    /** Visits blocks. */
    interface BlockVisitor {
        void accept(long address, long byteSize);
    }

    private static final int PARTS = 16;
    private static final int PART_BITS = Integer.numberOfTrailingZeros(PARTS);

    private final Part[] parts = new Part[PARTS];

    BlockSizes() {
        Arrays.setAll(parts, i -> new Part());
    }

    /** Spreads addresses, whose lower bits are mostly equal. */
    private static long hash(long address) {
        return address * 0x9E3779B97F4A7C15L;
    }

    private Part part(long hash) {
        return parts[(int) (hash >>> (Long.SIZE - PART_BITS))];
    }

    /** Adds a block, whose address is not 0. */
    void put(long address, long byteSize) {
        final long hash = hash(address);
        part(hash).put(address, byteSize, hash);
    }

    /** Removes a block and returns its size, or {@link #NONE} if there is none at the address. */
    long remove(long address) {
        final long hash = hash(address);
        return part(hash).remove(address, hash);
    }

    /** Returns how many blocks there are. */
    int count() {
        int sum = 0;
        for (final Part part : parts) {
            sum += part.count();
        }
        return sum;
    }

    /** Returns how many blocks there are of each size. */
    NavigableMap<Long, Integer> countBySize() {
        final NavigableMap<Long, Integer> counts = new TreeMap<>();
        forEach((address, byteSize) -> counts.merge(byteSize, 1, Integer::sum));
        return counts;
    }

    /** Calls {@code action} with address and size of each block. */
    void forEach(BlockVisitor action) {
        for (final Part part : parts) {
            part.forEach(action);
        }
    }

    private static final class Part {
        private final ReentrantLock lock = new ReentrantLock();
        private long[] addresses = new long[16];
        private long[] sizes = new long[16];
        private int count;

        private int home(long hash) {
            return (int) (hash >>> PART_BITS) & (addresses.length - 1);
        }

        void put(long address, long byteSize, long hash) {
            lock.lock();
            try {
                if (2 * (count + 1) > addresses.length) {
                    grow();
                }
                place(address, byteSize, hash);
                count++;
            } finally {
                lock.unlock();
            }
        }

        private void place(long address, long byteSize, long hash) {
            int i = home(hash);
            while (addresses[i] != 0) {
                i = (i + 1) & (addresses.length - 1);
            }
            addresses[i] = address;
            sizes[i] = byteSize;
        }

        private void grow() {
            final long[] oldAddresses = addresses;
            final long[] oldSizes = sizes;
            sizes = new long[2 * oldSizes.length];
            addresses = new long[2 * oldAddresses.length];
            for (int i = 0; i < oldAddresses.length; i++) {
                if (oldAddresses[i] != 0) {
                    place(oldAddresses[i], oldSizes[i], hash(oldAddresses[i]));
                }
            }
        }

        long remove(long address, long hash) {
            lock.lock();
            try {
                int i = home(hash);
                while (addresses[i] != address) {
                    if (addresses[i] == 0) {
                        return NONE;
                    }
                    i = (i + 1) & (addresses.length - 1);
                }
                final long byteSize = sizes[i];
                close(i);
                count--;
                return byteSize;
            } finally {
                lock.unlock();
            }
        }

        /** Empties a place and moves up what stands behind it and would no longer be found. */
        private void close(int hole) {
            final int mask = addresses.length - 1;
            int empty = hole;
            int i = (hole + 1) & mask;
            while (addresses[i] != 0) {
                final int home = home(hash(addresses[i]));
                // Whether the empty place lies between home and i, going round.
                if (((i - home) & mask) >= ((i - empty) & mask)) {
                    addresses[empty] = addresses[i];
                    sizes[empty] = sizes[i];
                    empty = i;
                }
                i = (i + 1) & mask;
            }
            addresses[empty] = 0;
        }

        int count() {
            lock.lock();
            try {
                return count;
            } finally {
                lock.unlock();
            }
        }

        void forEach(BlockVisitor action) {
            lock.lock();
            try {
                for (int i = 0; i < addresses.length; i++) {
                    if (addresses[i] != 0) {
                        action.accept(addresses[i], sizes[i]);
                    }
                }
            } finally {
                lock.unlock();
            }
        }
    }
}
