package exam.pulse;

import allocator.spi.DeviceException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Map;
import java.util.TreeMap;

/**
 * The simulated driver of one card. Memory of the card has addresses that the host cannot use, and each address is
 * handed out once; its bytes exist from the first copy on.
 */
final class Driver {
    private static final long CARD_BYTES = 320L << 20;
    private static final long PINNED_BYTES = 320L << 20;
    private static final long PAGE = 512;

    private static final Driver[] CARDS = {new Driver(0), new Driver(1)};

    private final TreeMap<Long, Allocation> allocations = new TreeMap<>();
    private long nextAddress;
    private long cardFree = CARD_BYTES;
    private long pinnedFree = PINNED_BYTES;

    private Driver(int ordinal) {
        nextAddress = 0x5000_0000_0000L + ((long) ordinal << 42);
    }

    static Driver of(int ordinal) {
        return CARDS[ordinal];
    }

    /** A span that the driver has handed out. */
    static final class Allocation {
        private final long byteSize;
        private final boolean isPinned;
        private final Arena lifetime = Arena.ofShared();
        private MemorySegment bytes;
        private Long address;

        private Allocation(long byteSize, boolean isPinned) {
            this.byteSize = byteSize;
            this.isPinned = isPinned;
        }

        long address() {
            return address;
        }

        /** Returns the bytes. */
        private synchronized MemorySegment bytes() {
            if (bytes == null) {
                bytes = lifetime.allocate(byteSize, 8);
            }
            return bytes;
        }
    }

    /**
     * Takes memory of the card, or pinned memory.
     *
     * @return the allocation, or null if there is no memory for it
     */
    synchronized Allocation allocate(long byteSize, boolean isPinned, long byteAlignment) {
        if (byteSize > (isPinned ? pinnedFree : cardFree)) {
            return null;
        }
        final Allocation allocation = new Allocation(byteSize, isPinned);
        if (isPinned) {
            try {
                allocation.bytes = allocation.lifetime.allocate(byteSize, byteAlignment);
            } catch (OutOfMemoryError e) {
                allocation.lifetime.close();
                return null;
            }
            allocation.address = allocation.bytes.address();
        } else {
            allocation.address = nextAddress;
        }
        try {
            allocations.put(allocation.address, allocation);
        } catch (OutOfMemoryError e) {
            allocation.lifetime.close();
            throw e;
        }
        if (isPinned) {
            pinnedFree -= byteSize;
        } else {
            cardFree -= byteSize;
            nextAddress += (byteSize / PAGE + 2) * PAGE;
        }
        return allocation;
    }

    /** Takes an allocation back. */
    synchronized void free(Allocation allocation) {
        allocation.lifetime.close();
        allocations.remove(allocation.address);
        if (allocation.isPinned) {
            pinnedFree += allocation.byteSize;
        } else {
            cardFree += allocation.byteSize;
        }
    }

    synchronized long available(boolean isPinned) {
        return isPinned ? pinnedFree : cardFree;
    }

    /** Returns the bytes of a range that the card can reach. */
    MemorySegment resolve(long address, long byteSize) {
        final Map.Entry<Long, Allocation> entry;
        synchronized (this) {
            entry = allocations.floorEntry(address);
        }
        if (entry == null || byteSize > entry.getValue().byteSize - (address - entry.getKey())) {
            throw new DeviceException("PULSE_ILLEGAL_ADDRESS 0x" + Long.toHexString(address), null);
        }
        return entry.getValue().bytes().asSlice(address - entry.getKey(), byteSize);
    }

    /** Copies bytes, as the card's copy engine does; each address is of the card, or of the host. */
    void copy(long source, boolean isSourceHost, long target, boolean isTargetHost, long byteSize) {
        final MemorySegment from = isSourceHost ? host(source, byteSize) : resolve(source, byteSize);
        final MemorySegment to = isTargetHost ? host(target, byteSize) : resolve(target, byteSize);
        to.copyFrom(from);
    }

    private static MemorySegment host(long address, long byteSize) {
        return MemorySegment.ofAddress(address).reinterpret(byteSize);
    }
}
