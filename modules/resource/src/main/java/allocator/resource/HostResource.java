package allocator.resource;

import allocator.resource.base.AddressTable;
import allocator.resource.base.NativeMemory;
import allocator.spi.AllocatorClosedException;
import allocator.spi.AllocatorType;
import allocator.spi.DeviceType;
import allocator.spi.ForeignAddressException;
import allocator.spi.InvalidSizeException;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryLocation;
import allocator.spi.MemoryType;
import allocator.spi.OutOfMemoryException;
import allocator.spi.OutOfMemoryException.Shortage;

/**
 * Host memory of the C library: the CUDA proposal's {@code new_delete_resource}.
 *
 * <p>Records live allocations and rejects a deallocation with a wrong address or size. {@link #close} frees what is
 * still live.
 */
public final class HostResource implements MemoryResource {
    /** The largest supported alignment, in bytes. */
    public static final long MAX_BYTE_ALIGNMENT = 1L << 30;

    /** The least alignment: suits vector instructions and spares a second path for smaller ones. */
    private static final long BYTE_ALIGNMENT = 64;

    private static final MemoryInfo MEMORY = new MemoryInfo(
            "Host", new MemoryLocation(DeviceType.CPU, 0, 0, MemoryType.DEFAULT), BYTE_ALIGNMENT, AllocatorType.DEVICE);

    private final AddressTable<Void> live = new AddressTable<>();
    private boolean isClosed;

    /** Creates a resource without allocations. */
    public HostResource() {}

    @Override
    public MemoryInfo memory() {
        return MEMORY;
    }

    @Override
    public MemoryKind kind() {
        return MemoryKind.HOST;
    }

    @Override
    public long allocate(long byteSize, long byteAlignment) {
        Requests.requireValid(byteSize, byteAlignment);
        Requests.requireAtMost(byteAlignment, MAX_BYTE_ALIGNMENT, this);
        if (byteSize == 0) {
            return 0;
        }
        final long alignment = Math.max(byteAlignment, BYTE_ALIGNMENT);
        final long address = NativeMemory.allocate(alignment, Requests.roundUp(byteSize, alignment));
        if (address == 0) {
            throw new OutOfMemoryException(
                    "The C library cannot allocate " + byteSize + " bytes",
                    Shortage.ofDevice(MEMORY, byteSize, OutOfMemoryException.UNKNOWN));
        }
        boolean isRecorded = false;
        live.lock();
        try {
            if (isClosed) {
                throw closedException();
            }
            live.put(address, byteSize, null);
            isRecorded = true;
        } finally {
            live.unlock();
            if (!isRecorded) {
                NativeMemory.free(address);
            }
        }
        return address;
    }

    @Override
    public void deallocate(long address, long byteSize, long byteAlignment) {
        if (address == 0) {
            return;
        }
        live.lock();
        try {
            if (isClosed) {
                throw closedException();
            }
            final int slot = live.find(address);
            if (slot < 0) {
                throw new ForeignAddressException(address, "not a live block of " + this);
            }
            if (live.value(slot) != byteSize) {
                throw new InvalidSizeException(
                        byteSize, "is not the " + live.value(slot) + " allocated at 0x" + Long.toHexString(address));
            }
            live.remove(slot);
        } finally {
            live.unlock();
        }
        NativeMemory.free(address);
    }

    private AllocatorClosedException closedException() {
        return new AllocatorClosedException(this + " is closed");
    }

    @Override
    public void close() {
        final long[] left;
        live.lock();
        try {
            if (isClosed) {
                return;
            }
            isClosed = true;
            left = live.addresses();
        } finally {
            live.unlock();
        }
        for (long address : left) {
            NativeMemory.free(address);
        }
    }

    @Override
    public String toString() {
        return "host memory";
    }
}
