package allocator.resource;

import allocator.provider.support.internal.Sizes;
import allocator.provider.support.platform.CLibrary;
import allocator.provider.support.platform.Platform;
import allocator.resource.base.LiveTable;
import allocator.resource.base.NativeMemory;
import allocator.spi.AllocatorClosedException;
import allocator.spi.AllocatorType;
import allocator.spi.DeviceType;
import allocator.spi.ForeignAddressException;
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

    /** The live blocks, each with its size. */
    private final LiveTable<Void> live = new LiveTable<>(false);

    private volatile boolean isClosed;

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
        requireOpen();
        final long alignment = Math.max(byteAlignment, BYTE_ALIGNMENT);
        final long rounded = Sizes.roundUp(byteSize, alignment);
        live.expect();
        long address = 0;
        try {
            address = NativeMemory.allocate(alignment, rounded);
        } finally {
            if (address == 0) {
                live.expectNoMore();
            }
        }
        if (address == 0) {
            throw new OutOfMemoryException(
                    "The C library cannot allocate " + byteSize + " bytes",
                    Shortage.ofDevice(MEMORY, byteSize, OutOfMemoryException.UNKNOWN));
        }
        live.add(address, byteSize, null);
        if (isClosed) {
            freeIfLive(address);
            requireOpen();
        }
        return address;
    }

    @Override
    public void deallocate(long address, long byteSize, long byteAlignment) {
        if (address == 0) {
            return;
        }
        requireOpen();
        if (!live.takeSized(address, byteSize)) {
            throw new ForeignAddressException(address, "not a live block of " + this);
        }
        giveBack(address, byteSize);
    }

    /** Frees a block that is out of the table; it comes back if the end of the Java heap or stack prevents the call. */
    private void giveBack(long address, long byteSize) {
        boolean isFreed = false;
        try {
            NativeMemory.free(address);
            isFreed = true;
        } finally {
            live.settle(address, byteSize, null, isFreed);
        }
    }

    private void requireOpen() {
        if (isClosed) {
            throw new AllocatorClosedException(this + " is closed");
        }
    }

    /** Frees what is still live. Another call frees what is left, if the first one has failed. */
    @Override
    public void close() {
        isClosed = true;
        for (final long address : live.addresses()) {
            freeIfLive(address);
        }
    }

    /** Frees a block at the close. An allocation that was under way then frees its block itself, or finds it freed. */
    private void freeIfLive(long address) {
        final long byteSize = live.take(address, 0);
        if (byteSize > 0) {
            giveBack(address, byteSize);
        }
    }

    @Override
    public String toString() {
        return "host memory";
    }
}
