package allocator.cuda.memory;

import allocator.cuda.driver.CudaException;
import allocator.provider.support.BlockLedger;
import allocator.provider.support.UnreturnedMemory;
import allocator.provider.support.UseGuard;
import allocator.provider.support.internal.Sizes;
import allocator.spi.AllocatorClosedException;
import allocator.spi.AllocatorException;
import allocator.spi.AllocatorSnapshot;
import allocator.spi.AllocatorStats;
import allocator.spi.DeviceException;
import allocator.spi.MemoryInfo;
import allocator.spi.OptionKey;
import allocator.spi.SpiLevel;

/**
 * Takes each block from the driver: upstream of the arenas, and the allocator of memory that is allocated once.
 *
 * <p>The driver's free may wait for the device, but does not promise to. So before memory goes back, all work of the
 * device is waited for: no queued work ever uses memory that another process may have got by then (K-03). Memory that
 * the driver does not take back stays held, and is offered again.
 */
abstract sealed class DirectMemory implements CudaAllocator, UnreturnedMemory permits DeviceMemory, PinnedMemory {
    private final CudaDevice device;
    private final MemoryInfo info;
    private final UseGuard guard = new UseGuard();
    private final BlockLedger<Void> ledger;

    DirectMemory(CudaDevice device, MemoryInfo info) {
        this.device = device;
        this.info = info;
        ledger = BlockLedger.charging(info, this::awaitAndGiveBack);
    }

    /** Takes memory; may throw {@link CudaException}. */
    abstract long take(long byteSize);

    /** Gives memory back, with no work on it; may throw {@link CudaException}. */
    abstract void giveBack(long address);

    private void awaitAndGiveBack(long address, long byteSize) {
        awaitDevice();
        returnToDriver(address, byteSize);
    }

    /** Gives memory back, which the driver may then hand out to others. */
    private void returnToDriver(long address, long byteSize) {
        device.checks().returned(address, byteSize);
        giveBack(address);
    }

    final CudaDevice device() {
        return device;
    }

    @Override
    public final long alloc(long byteSize) {
        return alloc(byteSize, false);
    }

    @Override
    public final long reserve(long byteSize) {
        return alloc(byteSize, true);
    }

    private long alloc(long byteSize, boolean isReserve) {
        enter();
        try {
            if (Sizes.roundUp(byteSize, OptionKey.SIZE_GRANULARITY) == 0) {
                return 0;
            }
            return isReserve ? ledger.reserve(byteSize, this::take) : ledger.allocate(byteSize, this::take);
        } catch (CudaException e) {
            final AllocatorException failure = DriverCalls.allocationFailure(e, device, info, byteSize);
            if (e.isOutOfMemory()) {
                ledger.failed();
            }
            throw failure;
        } finally {
            guard.exit();
        }
    }

    @Override
    public final void free(long address) {
        if (address == 0) {
            return;
        }
        enter();
        try {
            ledger.free(address);
        } finally {
            guard.exit();
        }
    }

    @Override
    public final long unreturnedBytes() {
        return ledger.unreturnedBytes();
    }

    @Override
    public final long returnAgain() {
        enter();
        try {
            if (ledger.unreturnedBytes() > 0) {
                awaitDevice(); // here, where it stops no allocation
            }
            return ledger.returnAgain();
        } catch (CudaException | DeviceException e) {
            return 0;
        } finally {
            guard.exit();
        }
    }

    /**
     * Waits for all work of the device; memory does not go back if that fails.
     *
     * @throws CudaException if the driver fails
     * @throws allocator.spi.StreamCaptureException if a stream of the device is captured
     */
    public final void awaitDevice() {
        DriverCalls.insist(() -> device.synchronize("return of memory to the device; end the capture first"));
    }

    @Override
    public final MemoryInfo info() {
        return info;
    }

    @Override
    public final int spiLevel() {
        return SpiLevel.STREAMS;
    }

    @Override
    public final AllocatorStats stats() {
        enter();
        try {
            return ledger.stats();
        } finally {
            guard.exit();
        }
    }

    @Override
    public final AllocatorSnapshot inspect() {
        enter();
        try {
            return ledger.inspect();
        } finally {
            guard.exit();
        }
    }

    private void enter() {
        if (!guard.tryEnter()) {
            throw closed();
        }
    }

    /** Rejects a call that needs no handle. */
    final void requireOpen() {
        if (guard.isClosed()) {
            throw closed();
        }
    }

    private AllocatorClosedException closed() {
        return new AllocatorClosedException("the allocator of " + info + " is closed");
    }

    @Override
    public final void destroy() {
        guard.close();
        if (ledger.isEmpty()) {
            return;
        }
        try {
            awaitDevice();
        } catch (CudaException | DeviceException e) {
            throw ledger.notTakenBack(ledger.bytesHeld(), e);
        }
        ledger.returnAll((address, byteSize, none) -> {
            DriverCalls.insist(() -> returnToDriver(address, byteSize));
            return true;
        });
    }

    /**
     * Returns what the release of an allocator over this memory throws, if the device keeps memory of both.
     *
     * @param more what it keeps besides, in bytes
     * @param cause what the device threw
     * @return the exception, which names the sum of both
     */
    public final DeviceException notTakenBack(long more, Throwable cause) {
        return ledger.notTakenBack(ledger.bytesHeld() + more, cause);
    }

    @Override
    public final String toString() {
        return "the allocator of " + info;
    }
}
