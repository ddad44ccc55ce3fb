package allocator.testkit;

import allocator.provider.support.UnreturnedMemory;
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
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.IntPredicate;

/**
 * An upstream of made-up addresses, for an arena to draw from. The addresses rise, are the same in every run, and are
 * never used again; between two allocations lie 1 MiB or more that belong to neither.
 *
 * <p>A free that fails takes effect and leaves the memory unreturned: {@link #returnAgain} returns it.
 *
 * <p>{@link FakeAllocator} stands for what a provider returns; this class stands for the device below it.
 */
public class FakeDevice implements Allocator, UnreturnedMemory {
    /** The memory of the device: a GPU's, in granules of 256 bytes. */
    public static final MemoryInfo INFO = new MemoryInfo(
            "Simulated", new MemoryLocation(DeviceType.GPU, 0, 0, MemoryType.DEFAULT), 256, AllocatorType.DEVICE);

    private static final long GAP = 1 << 20;

    /** Live blocks and unreturned memory. */
    private final TreeMap<Long, Long> held = new TreeMap<>();

    private final Set<Long> unreturned = new HashSet<>();
    private final List<Long> bases = new ArrayList<>();
    private final List<Long> requestedSizes = new ArrayList<>();
    private long nextAddress = 0x7000_0000_0000L;
    private long capacity = 1L << 45;
    private IntPredicate allocFails = call -> false;
    private IntPredicate freeFails = call -> false;
    private int allocCalls;
    private int freeCalls;

    /** Creates a device of 32 TiB. */
    public FakeDevice() {}

    /** Sets the most bytes that are allocated at one time. */
    public final synchronized FakeDevice capacity(long byteSize) {
        capacity = byteSize;
        return this;
    }

    /** Makes allocations fail with a {@link DeviceException}, by the number of the call from 0. */
    public final synchronized void failAllocs(IntPredicate which) {
        allocFails = which;
    }

    /**
     * Makes the device refuse memory, which is unreturned then, by the number of the call from 0: frees of live blocks,
     * and each piece of unreturned memory that is offered again.
     */
    public final synchronized void failFrees(IntPredicate which) {
        freeFails = which;
    }

    @Override
    public synchronized long alloc(long byteSize) {
        requestedSizes.add(byteSize);
        if (allocFails.test(allocCalls++)) {
            throw new DeviceException("injected failure of an allocation", null);
        }
        final long free = capacity - liveBytes();
        if (byteSize > free) {
            throw new OutOfMemoryException("the fake device is full", Shortage.ofDevice(INFO, byteSize, free));
        }
        final long address = nextAddress;
        nextAddress += (byteSize + 255) / 256 * 256 + GAP;
        held.put(address, byteSize);
        bases.add(address);
        return address;
    }

    @Override
    public synchronized void free(long address) {
        requireLive(address);
        giveBack(address);
    }

    private void requireLive(long address) {
        if (!held.containsKey(address) || unreturned.contains(address)) {
            throw new ForeignAddressException(address, "it is not of the fake device");
        }
    }

    /** Ends a live block and leaves its memory unreturned, as the free of a device that refuses it does. */
    protected final synchronized void leaveUnreturned(long address) {
        requireLive(address);
        unreturned.add(address);
    }

    @Override
    public synchronized long unreturnedBytes() {
        return unreturned.stream().mapToLong(held::get).sum();
    }

    @Override
    public synchronized long returnAgain() {
        final long before = unreturnedBytes();
        List.copyOf(unreturned).forEach(this::giveBack);
        return before - unreturnedBytes();
    }

    private void giveBack(long address) {
        if (freeFails.test(freeCalls++)) {
            unreturned.add(address);
        } else {
            held.remove(address);
            unreturned.remove(address);
        }
    }

    @Override
    public MemoryInfo info() {
        return INFO;
    }

    @Override
    public int spiLevel() {
        return SpiLevel.CURRENT;
    }

    /** Returns the sum of the requested sizes of all live allocations and of the unreturned memory. */
    public final synchronized long liveBytes() {
        return held.values().stream().mapToLong(Long::longValue).sum();
    }

    /** Returns how many allocations are live or unreturned. */
    public final synchronized int liveBlocks() {
        return held.size();
    }

    /** Returns how often {@link #alloc} was called, failed calls included. */
    public final synchronized int allocCalls() {
        return allocCalls;
    }

    /** Returns how often frees of live blocks and {@link #returnAgain} offered memory to the device, refused or not. */
    public final synchronized int freeCalls() {
        return freeCalls;
    }

    /** Returns the sizes of all calls of {@link #alloc} in order, failed ones included. */
    public final synchronized List<Long> requestedSizes() {
        return List.copyOf(requestedSizes);
    }

    /** Returns the address of an allocation, live or freed, by its number from 0; failed ones are not counted. */
    public final synchronized long base(int index) {
        return bases.get(index);
    }

    /**
     * Names an address by the allocation that it lies in or behind and the distance from its start, such as
     * {@code r1+256}; returns it in hexadecimal if it lies before the first one.
     */
    public final synchronized String describe(long address) {
        for (int index = bases.size() - 1; index >= 0; index--) {
            final long base = bases.get(index);
            if (address >= base) {
                return "r" + index + "+" + (address - base);
            }
        }
        return "0x" + Long.toHexString(address);
    }
}
