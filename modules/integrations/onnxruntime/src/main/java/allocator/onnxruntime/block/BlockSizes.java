package allocator.onnxruntime.block;

import allocator.provider.support.internal.BriefLock;
import allocator.provider.support.internal.LongTable;
import java.util.Arrays;
import java.util.NavigableMap;
import java.util.Objects;
import java.util.TreeMap;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;

/**
 * The sizes of blocks by their addresses, and their names if they have any, for many threads: several tables, each with
 * a lock, are chosen by a hash of the address. Allocates no object for a block.
 */
public final class BlockSizes {
    /** What {@link #remove} returns for an address that is not live. */
    public static final long NONE = -1;

    /** Visits blocks. */
    public interface BlockVisitor {
        /** Visits a block; its name is {@code null} if it has none. */
        void accept(long address, long byteSize, @Nullable String name);
    }

    /** Multiplied with an address it spreads the lower bits, which are mostly equal, over the upper ones. */
    private static final long SPREAD = 0x9E3779B97F4A7C15L;

    /** How many of the upper bits of the product choose the part. */
    private static final int PART_BITS = 4;

    private final Part[] parts = new Part[1 << PART_BITS];

    /** Creates an empty table of blocks without names. */
    public BlockSizes() {
        this(false);
    }

    /**
     * Creates an empty table.
     *
     * @param hasNames whether blocks may have names
     */
    public BlockSizes(boolean hasNames) {
        Arrays.setAll(parts, i -> new Part(hasNames));
    }

    private Part part(long address) {
        return parts[(int) ((address * SPREAD) >>> (Long.SIZE - PART_BITS))];
    }

    /**
     * Adds a live block, whose address is not 0.
     *
     * @throws OutOfMemoryError if the Java heap has no room for the entry; nothing changes
     */
    public void put(long address, long byteSize) {
        put(address, byteSize, null);
    }

    /**
     * Adds a live block as {@link #put(long, long)}.
     *
     * @param name its name; ignored if blocks have none here
     */
    public void put(long address, long byteSize, @Nullable String name) {
        part(address).put(address, byteSize, name);
    }

    /** Removes a live block and returns its size, or {@link #NONE} if there is none at the address. */
    public long remove(long address) {
        return part(address).remove(address);
    }

    /** Returns the name of a live block; empty if it has none, or there is none at the address. */
    public String name(long address) {
        return part(address).name(address);
    }

    /** Returns how many live blocks there are. */
    public int count() {
        return (int) sum(part -> part.sizes.count());
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
        forEach((address, byteSize, name) -> counts.merge(byteSize, 1, Integer::sum));
        return counts;
    }

    /** Calls {@code action} with address, size and name of each live block. */
    public void forEach(BlockVisitor action) {
        for (final Part part : parts) {
            part.forEach(action);
        }
    }

    /** A table, guarded by its lock. */
    private static final class Part {
        private final BriefLock lock = new BriefLock();
        private final LongTable<String> sizes;
        private long added;
        private long largest;

        Part(boolean hasNames) {
            sizes = new LongTable<>(hasNames);
        }

        void put(long address, long byteSize, @Nullable String name) {
            lock.lock();
            try {
                sizes.expect();
                sizes.add(address, byteSize, name);
                added++;
                largest = Math.max(largest, byteSize);
            } finally {
                lock.unlock();
            }
        }

        long remove(long address) {
            lock.lock();
            try {
                final int slot = sizes.find(address);
                if (slot < 0) {
                    return NONE;
                }
                final long byteSize = sizes.value(slot);
                sizes.remove(slot);
                return byteSize;
            } finally {
                lock.unlock();
            }
        }

        String name(long address) {
            lock.lock();
            try {
                final int slot = sizes.find(address);
                return slot < 0 ? "" : Objects.requireNonNullElse(sizes.attachment(slot), "");
            } finally {
                lock.unlock();
            }
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

        /** Visits a copy, outside the lock. */
        void forEach(BlockVisitor action) {
            final long[] addresses;
            final long[] byteSizes;
            final @Nullable String[] names;
            lock.lock();
            try {
                addresses = sizes.addresses();
                byteSizes = new long[addresses.length];
                names = new @Nullable String[addresses.length];
                for (int i = 0; i < addresses.length; i++) {
                    final int slot = sizes.find(addresses[i]);
                    byteSizes[i] = sizes.value(slot);
                    names[i] = sizes.attachment(slot);
                }
            } finally {
                lock.unlock();
            }
            for (int i = 0; i < addresses.length; i++) {
                action.accept(addresses[i], byteSizes[i], names[i]);
            }
        }
    }
}
