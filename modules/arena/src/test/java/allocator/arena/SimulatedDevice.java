package allocator.arena;

import allocator.spi.Allocator;
import allocator.spi.AllocatorType;
import allocator.spi.DeviceException;
import allocator.spi.DeviceType;
import allocator.spi.ForeignAddressException;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryLocation;
import allocator.spi.MemoryType;
import allocator.spi.OutOfMemoryException;
import allocator.spi.OutOfMemoryException.Shortage;
import allocator.spi.SpiLevel;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import java.util.function.IntPredicate;

/** A device that has addresses only: counts, refuses and fails on demand. Addresses rise and are never used again. */
class SimulatedDevice implements Allocator {
    static final MemoryInfo INFO = new MemoryInfo(
            "Simulated", new MemoryLocation(DeviceType.GPU, 0, 0, MemoryType.DEFAULT), 256, AllocatorType.DEVICE);

    /** Untouched addresses between two allocations. */
    private static final long GAP = 1 << 20;

    private final TreeMap<Long, Long> live = new TreeMap<>();

    /** Where each allocation so far began, in order. */
    private final List<Long> bases = new ArrayList<>();

    private final List<Long> askedSizes = new ArrayList<>();
    private long nextAddress = 0x7000_0000_0000L;
    private long capacity = 1L << 45;
    private IntPredicate allocFails = call -> false;
    private IntPredicate freeFails = call -> false;
    private int allocCalls;
    private int freeCalls;

    synchronized SimulatedDevice capacity(long byteSize) {
        capacity = byteSize;
        return this;
    }

    /** Lets an allocation fail with a driver error, by the number of the call from 0. */
    synchronized void failAllocs(IntPredicate which) {
        allocFails = which;
    }

    /** Lets a free fail with a driver error, by the number of the call from 0; the memory stays allocated. */
    synchronized void failFrees(IntPredicate which) {
        freeFails = which;
    }

    @Override
    public synchronized long alloc(long byteSize) {
        askedSizes.add(byteSize);
        if (allocFails.test(allocCalls++)) {
            throw new DeviceException("simulated failure of an allocation", null);
        }
        final long free = capacity - liveBytes();
        if (byteSize > free) {
            throw new OutOfMemoryException("simulated exhaustion", Shortage.ofDevice(INFO, byteSize, free));
        }
        final long address = nextAddress;
        nextAddress += (byteSize + 255) / 256 * 256 + GAP;
        live.put(address, byteSize);
        bases.add(address);
        return address;
    }

    @Override
    public synchronized void free(long address) {
        if (!live.containsKey(address)) {
            throw new ForeignAddressException(address, "it is not of the simulated device");
        }
        if (freeFails.test(freeCalls++)) {
            throw new DeviceException("simulated failure of a free", null);
        }
        live.remove(address);
    }

    @Override
    public MemoryInfo info() {
        return INFO;
    }

    @Override
    public int spiLevel() {
        return SpiLevel.CURRENT;
    }

    synchronized long liveBytes() {
        return live.values().stream().mapToLong(Long::longValue).sum();
    }

    synchronized int liveBlocks() {
        return live.size();
    }

    synchronized int allocCalls() {
        return allocCalls;
    }

    synchronized int freeCalls() {
        return freeCalls;
    }

    synchronized List<Long> askedSizes() {
        return List.copyOf(askedSizes);
    }

    /** Where the n-th successful allocation began. */
    synchronized long base(int index) {
        return bases.get(index);
    }

    /** An address as the allocation it lies in and the distance from its start, such as {@code r1+256}. */
    synchronized String describe(long address) {
        for (int index = bases.size() - 1; index >= 0; index--) {
            final long base = bases.get(index);
            if (address >= base) {
                return "r" + index + "+" + (address - base);
            }
        }
        return "0x" + Long.toHexString(address);
    }
}
