package allocator.resource;

import allocator.spi.AllocatorType;
import allocator.spi.DeviceType;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryLocation;
import allocator.spi.MemoryType;
import allocator.spi.OutOfMemoryException;
import allocator.spi.OutOfMemoryException.Shortage;
import allocator.spi.SyncStream;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Hands out addresses without memory behind them, lowest free one first, so that an address comes back at once. Notes
 * every call; can be told to be slow between giving an address free and returning.
 */
class AddressesResource implements StreamOrderedMemoryResource {
    private static final long BASE = 0x10_0000;
    private static final long STEP = 1L << 32;

    final List<String> calls = new ArrayList<>();
    private final Map<Long, Long> live = new HashMap<>();
    private final MemoryKind kind;
    private final long capacity;
    private long bytes;
    private Runnable afterFree = () -> {};

    AddressesResource(MemoryKind kind, long capacity) {
        this.kind = kind;
        this.capacity = capacity;
    }

    AddressesResource(long capacity) {
        this(MemoryKind.DEVICE, capacity);
    }

    /** What happens after an address is free and before the call returns. */
    AddressesResource afterFree(Runnable action) {
        afterFree = action;
        return this;
    }

    @Override
    public MemoryInfo memory() {
        return new MemoryInfo(
                "Addresses",
                new MemoryLocation(kind == MemoryKind.HOST ? DeviceType.CPU : DeviceType.GPU, 0, 0, MemoryType.DEFAULT),
                256,
                AllocatorType.DEVICE);
    }

    @Override
    public MemoryKind kind() {
        return kind;
    }

    @Override
    public long allocate(long byteSize, long byteAlignment) {
        Requests.requireValid(byteSize, byteAlignment);
        Requests.requireAtMost(byteAlignment, 256, this);
        synchronized (this) {
            calls.add("allocate " + byteSize + " aligned " + byteAlignment);
            if (byteSize == 0) {
                return 0;
            }
            if (byteSize > capacity - bytes) {
                throw new OutOfMemoryException(
                        "No more addresses", Shortage.ofDevice(memory(), byteSize, capacity - bytes));
            }
            long address = BASE;
            while (live.containsKey(address)) {
                address += STEP;
            }
            live.put(address, byteSize);
            bytes += byteSize;
            return address;
        }
    }

    @Override
    public void deallocate(long address, long byteSize, long byteAlignment) {
        synchronized (this) {
            calls.add("deallocate " + byteSize + " aligned " + byteAlignment);
            if (!live.remove(address, byteSize)) {
                throw new allocator.spi.ForeignAddressException(address, "not one of " + byteSize + " bytes");
            }
            bytes -= byteSize;
        }
        afterFree.run();
    }

    @Override
    public long allocate(long byteSize, long byteAlignment, SyncStream stream) {
        synchronized (this) {
            calls.add("on " + stream.handle());
        }
        return allocate(byteSize, byteAlignment);
    }

    @Override
    public void deallocate(long address, long byteSize, long byteAlignment, SyncStream stream) {
        synchronized (this) {
            calls.add("on " + stream.handle());
        }
        deallocate(address, byteSize, byteAlignment);
    }

    synchronized long bytes() {
        return bytes;
    }

    synchronized int blocks() {
        return live.size();
    }

    @Override
    public String toString() {
        return "addresses";
    }
}
