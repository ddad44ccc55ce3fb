package allocator.resource;

import allocator.provider.support.StackReserve;
import allocator.provider.support.platform.CLibrary;
import allocator.provider.support.platform.Platform;
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

    /**
     * Creates a resource without allocations.
     *
     * @throws allocator.spi.UnsupportedMemoryException if the platform does not have 64 bits
     */
    public HostResource() {
        this(Platform.current());
    }

    HostResource(Platform platform) {
        final CLibrary ignored = CLibrary.of(platform); // before a class is initialized that would stay unusable
        NativeMemory.prepare();
    }

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
        final long rounded = Requests.roundUp(byteSize, alignment);
        prepare();
        long address = 0;
        try {
            address = NativeMemory.allocate(alignment, rounded);
        } finally {
            if (address == 0) {
                live.abandon();
            }
        }
        if (address == 0) {
            throw new OutOfMemoryException(
                    "The C library cannot allocate " + byteSize + " bytes",
                    Shortage.ofDevice(MEMORY, byteSize, OutOfMemoryException.UNKNOWN));
        }
        if (!enter(address, byteSize)) {
            giveBack(address, byteSize);
            throw closedException();
        }
        return address;
    }

    private void prepare() {
        StackReserve.touchBriefly();
        boolean isOpen;
        live.lock.lock();
        try {
            isOpen = !isClosed;
            if (isOpen) {
                live.expect();
            }
            live.lock.unlock();
        } catch (Throwable e) {
            live.lock.held = 0;
            throw e;
        }
        if (!isOpen) {
            throw closedException();
        }
    }

    /** Records a block; returns whether this resource is open still. */
    private boolean enter(long address, long byteSize) {
        boolean isOpen;
        live.lock.lock();
        try {
            live.expectNoMore();
            isOpen = !isClosed;
            if (isOpen) {
                live.add(address, byteSize, null);
            }
            live.lock.unlock();
        } catch (Throwable e) {
            live.lock.held = 0;
            throw e;
        }
        return isOpen;
    }

    @Override
    public void deallocate(long address, long byteSize, long byteAlignment) {
        if (address == 0) {
            return;
        }
        remove(address, byteSize);
        giveBack(address, byteSize);
    }

    /** Frees a block that is in no table; if that fails, it is in the table again. */
    private void giveBack(long address, long byteSize) {
        boolean isFreed = false;
        try {
            NativeMemory.free(address);
            isFreed = true;
        } finally {
            if (!isFreed) {
                live.restore(address, byteSize, null);
            }
        }
    }

    private void remove(long address, long byteSize) {
        StackReserve.touchBriefly();
        boolean isOpen;
        long liveSize = -1;
        live.lock.lock();
        try {
            isOpen = !isClosed;
            final int slot = live.find(address);
            if (slot >= 0) {
                liveSize = live.value(slot);
                if (isOpen && liveSize == byteSize) {
                    live.remove(slot);
                }
            }
            live.lock.unlock();
        } catch (Throwable e) {
            live.lock.held = 0;
            throw e;
        }
        if (!isOpen) {
            throw closedException();
        }
        if (liveSize < 0) {
            throw new ForeignAddressException(address, "not a live block of " + this);
        }
        if (liveSize != byteSize) {
            throw new InvalidSizeException(
                    byteSize, "is not the " + liveSize + " allocated at 0x" + Long.toHexString(address));
        }
    }

    private AllocatorClosedException closedException() {
        return new AllocatorClosedException(this + " is closed");
    }

    /** Frees what is still live. Another call frees what is left, if the first one has failed. */
    @Override
    public void close() {
        StackReserve.touch();
        final long[] left;
        live.lock.lock();
        try {
            isClosed = true;
            left = live.addresses();
            live.lock.unlock();
        } catch (Throwable e) {
            live.lock.held = 0;
            throw e;
        }
        for (long address : left) {
            if (forget(address)) {
                NativeMemory.free(address);
            }
        }
    }

    private boolean forget(long address) {
        boolean isLeft;
        live.lock.lock();
        try {
            final int slot = live.find(address);
            isLeft = slot >= 0;
            if (isLeft) {
                live.remove(slot);
            }
            live.lock.unlock();
        } catch (Throwable e) {
            live.lock.held = 0;
            throw e;
        }
        return isLeft;
    }

    @Override
    public String toString() {
        return "host memory";
    }
}
