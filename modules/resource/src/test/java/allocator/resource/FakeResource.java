package allocator.resource;

import allocator.spi.AllocatorType;
import allocator.spi.DeviceType;
import allocator.spi.ForeignAddressException;
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
import java.util.function.Consumer;

/**
 * A resource without memory. It returns the lowest free address, so a freed address is reused at once, and records
 * every call. Calls on closed streams are rejected.
 */
public class FakeResource implements StreamOrderedMemoryResource {
    private static final long STEP = 1L << 32;

    /** The calls so far. */
    public final List<String> calls = new ArrayList<>();

    private final Map<Long, Long> live = new HashMap<>();
    private final MemoryKind kind;
    private final long capacity;
    private long base = 0x10_0000;
    private long bytes;
    private Runnable afterFree = () -> {};
    private Consumer<String> before = call -> {};

    /**
     * Creates a resource.
     *
     * @param kind the kind of its memory
     * @param capacity the most live bytes
     */
    public FakeResource(MemoryKind kind, long capacity) {
        this.kind = kind;
        this.capacity = capacity;
    }

    /**
     * Creates a resource of device memory.
     *
     * @param capacity the most live bytes
     */
    public FakeResource(long capacity) {
        this(MemoryKind.DEVICE, capacity);
    }

    /**
     * Sets the lowest address.
     *
     * @param lowest a multiple of 256
     * @return this resource
     */
    public FakeResource base(long lowest) {
        base = lowest;
        return this;
    }

    /**
     * Sets a hook.
     *
     * @param action called when an address is free and the call has not returned yet
     * @return this resource
     */
    public FakeResource afterFree(Runnable action) {
        afterFree = action;
        return this;
    }

    /**
     * Sets a hook.
     *
     * @param action called with the name of each call before it does anything
     * @return this resource
     */
    public FakeResource before(Consumer<String> action) {
        before = action;
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
        before.accept("allocate");
        synchronized (this) {
            calls.add("allocate " + byteSize + " aligned " + byteAlignment);
            if (byteSize == 0) {
                return 0;
            }
            if (byteSize > capacity - bytes) {
                throw new OutOfMemoryException(
                        "No more addresses", Shortage.ofDevice(memory(), byteSize, capacity - bytes));
            }
            long address = base;
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
        before.accept("deallocate");
        synchronized (this) {
            calls.add("deallocate " + byteSize + " aligned " + byteAlignment);
            if (!live.remove(address, byteSize)) {
                throw new ForeignAddressException(address, "not one of " + byteSize + " bytes");
            }
            bytes -= byteSize;
        }
        afterFree.run();
    }

    @Override
    public long allocate(long byteSize, long byteAlignment, SyncStream stream) {
        requireOpen(stream);
        synchronized (this) {
            calls.add("on " + stream.handle());
        }
        return allocate(byteSize, byteAlignment);
    }

    @Override
    public void deallocate(long address, long byteSize, long byteAlignment, SyncStream stream) {
        requireOpen(stream);
        synchronized (this) {
            calls.add("on " + stream.handle());
        }
        deallocate(address, byteSize, byteAlignment);
    }

    private static void requireOpen(SyncStream stream) {
        if (stream.hasEnded()) {
            throw new IllegalStateException(stream + " is closed");
        }
    }

    /** Takes all blocks back. */
    public synchronized void clear() {
        live.clear();
        bytes = 0;
    }

    /**
     * Returns the live bytes.
     *
     * @return bytes
     */
    public synchronized long bytes() {
        return bytes;
    }

    /**
     * Returns the number of live blocks.
     *
     * @return the number
     */
    public synchronized int blocks() {
        return live.size();
    }

    @Override
    public String toString() {
        return "addresses";
    }
}
