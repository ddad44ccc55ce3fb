package allocator.resource;

import allocator.provider.support.Failures;
import allocator.provider.support.ReturnGate;
import allocator.provider.support.StackReserve;
import allocator.resource.base.AddressTable;
import allocator.resource.base.BlockCounts;
import allocator.resource.base.UnreturnedBlocks;
import allocator.spi.AllocatorClosedException;
import allocator.spi.AllocatorStats;
import allocator.spi.DeviceException;
import allocator.spi.DoubleFreeException;
import allocator.spi.ForeignAddressException;
import allocator.spi.InvalidFreeException;
import allocator.spi.OutOfMemoryException;
import allocator.spi.SyncStream;
import org.jspecify.annotations.Nullable;

/**
 * The blocks of a {@link ResourceAllocator}: live ones, and dead ones whose memory is unreturned. It calls the
 * resource, so that whatever the resource throws, a block is in one of the two tables until its memory is back.
 *
 * <p>The lock is not held while the resource is called.
 */
final class LiveBlocks {
    private final StreamOrderedMemoryResource resource;
    private final AddressTable<SyncStream> live = new AddressTable<>();

    // Guarded by the lock of the table above
    private final BlockCounts counts = new BlockCounts();
    private final UnreturnedBlocks unreturned = new UnreturnedBlocks(counts);
    private boolean isClosed;

    /** Allocations that were under way when this was closed and have not ended. There is room for their blocks. */
    private int late;

    /** Between an allocation and its entry here, unreturned memory may be the new block's. */
    private final ReturnGate gate = new ReturnGate();

    LiveBlocks(StreamOrderedMemoryResource resource) {
        this.resource = resource;
    }

    /** Allocates and records a block; arguments and failures are those of the allocator. */
    long allocate(long byteSize, @Nullable SyncStream stream, boolean isReserve) {
        StackReserve.touchBriefly();
        long address = 0;
        long tooLate = 0;
        gate.enterAllocation();
        try {
            prepare();
            boolean isShort = false;
            try {
                address = allocateBelow(byteSize, stream, isReserve);
            } catch (OutOfMemoryException e) {
                isShort = true;
                throw e;
            } finally {
                tooLate = record(address, byteSize, stream, isReserve, isShort);
            }
        } finally {
            gate.exitAllocation();
        }
        if (tooLate != 0) {
            giveBack(tooLate, address, byteSize, stream, true);
            throw closedException();
        }
        return address;
    }

    private void prepare() {
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

    private long allocateBelow(long byteSize, @Nullable SyncStream stream, boolean isReserve) {
        final long byteAlignment = resource.memory().byteAlignment();
        if (stream != null) {
            return resource.allocate(byteSize, byteAlignment, stream);
        }
        return isReserve ? resource.reserve(byteSize, byteAlignment) : resource.allocate(byteSize, byteAlignment);
    }

    /**
     * Records the end of an allocation. Takes nothing from the Java heap.
     *
     * @param address 0 if it has failed, or was one of no bytes
     * @param isShort whether it has failed for lack of memory
     * @return the number of the block's return, which has begun, if this allocator is closed; else 0
     */
    private long record(long address, long byteSize, @Nullable SyncStream stream, boolean isReserve, boolean isShort) {
        long number = 0;
        live.lock.lock();
        try {
            live.expectNoMore();
            late -= late > 0 ? 1 : 0;
            if (address == 0) {
                counts.failed += isShort ? 1 : 0;
            } else {
                unreturned.forgetOverlapping(address, byteSize);
            }
            if (address != 0 && isClosed) {
                counts.arrivedDead(byteSize);
                number = unreturned.begin(address, byteSize);
            } else if (address != 0) {
                live.add(address, byteSize, stream);
                counts.allocated(byteSize, isReserve);
            }
            live.lock.unlock();
        } catch (Throwable e) {
            live.lock.held = 0;
            throw e;
        }
        return number;
    }

    /** Frees a live block. */
    void free(long address) {
        StackReserve.touchShallow();
        boolean isOpen;
        long byteSize = -1;
        long number = 0;
        SyncStream stream = null;
        live.lock.lock();
        try {
            isOpen = !isClosed;
            final int slot = isOpen ? live.find(address) : -1;
            if (slot >= 0) {
                unreturned.expect(1, late);
                byteSize = live.value(slot);
                stream = live.attachment(slot);
                number = unreturned.begin(address, byteSize);
                live.removeForNow(slot);
                counts.leaving(byteSize);
            }
            live.lock.unlock();
        } catch (Throwable e) {
            live.lock.held = 0;
            throw e;
        }
        if (!isOpen) {
            throw closedException();
        }
        if (byteSize < 0) {
            throw invalidFree(address);
        }
        giveBack(number, address, byteSize, stream, false);
    }

    private InvalidFreeException invalidFree(long address) {
        return isUnreturned(address)
                ? new DoubleFreeException(
                        address, "it was freed already, and " + resource + " failed to take the memory back")
                : new ForeignAddressException(address, "not a live block of the allocator over " + resource);
    }

    /**
     * Deallocates a block that is in no table. If the device fails, the block is dead and unreturned; if anything else
     * does, it is what it was.
     *
     * @param number that of its return
     * @param isDead whether it was dead
     */
    private void giveBack(long number, long address, long byteSize, @Nullable SyncStream stream, boolean isDead) {
        boolean isLive = !isDead;
        boolean isUnreturned = true;
        try {
            deallocate(address, byteSize, stream);
            isUnreturned = false;
            isLive = false;
        } catch (TakenBackException e) {
            isUnreturned = false;
            isLive = false;
            throw e;
        } catch (DeviceException e) {
            isLive = false;
            throw e;
        } finally {
            settle(number, address, byteSize, stream, isDead, isUnreturned, isLive);
        }
    }

    private void settle(
            long number,
            long address,
            long byteSize,
            @Nullable SyncStream stream,
            boolean wasDead,
            boolean isUnreturned,
            boolean isLive) {
        live.lock.lock();
        try {
            if (!wasDead) {
                live.expectNoMore();
            }
            final boolean isOurs = unreturned.end(address, number);
            if (isOurs && !isUnreturned) {
                counts.returned(byteSize);
            } else if (isOurs && isLive && !isClosed) {
                live.add(address, byteSize, stream);
                counts.restored(byteSize);
            } else if (isOurs) {
                unreturned.add(address, byteSize, stream);
            }
            live.lock.unlock();
        } catch (Throwable e) {
            live.lock.held = 0;
            throw e;
        }
    }

    private void deallocate(long address, long byteSize, @Nullable SyncStream stream) {
        EndedStreams.deallocate(resource, address, byteSize, resource.memory().byteAlignment(), stream);
    }

    /**
     * Tries to deallocate again what is unreturned; all is tried, and the first failure thrown at the end.
     *
     * @return the bytes that were deallocated; negative if nothing was tried, since an allocation has gone on for too
     *     long
     */
    long returnAgain() {
        StackReserve.touch();
        if (unreturnedBytes() == 0) {
            return 0;
        }
        if (!gate.tryEnterReturn()) {
            return -1;
        }
        long returned = 0;
        try {
            final Failures failure = new Failures();
            for (long address : unreturnedAddresses()) {
                try {
                    returned += returnUnreturned(address);
                } catch (TakenBackException e) {
                    // The allocator below has it.
                } catch (Throwable e) {
                    failure.add(e);
                }
            }
            failure.throwIfAny();
        } finally {
            gate.exitReturn();
        }
        return returned;
    }

    private long[] unreturnedAddresses() {
        final long[] addresses;
        live.lock.lock();
        try {
            addresses = unreturned.addresses();
            live.lock.unlock();
        } catch (Throwable e) {
            live.lock.held = 0;
            throw e;
        }
        return addresses;
    }

    /**
     * Tries to deallocate again what is unreturned at an address; returns false if nothing is.
     *
     * @throws DeviceException also if an allocation goes on for so long that it cannot be deallocated
     */
    boolean returnAgain(long address) {
        StackReserve.touch();
        if (!isUnreturned(address)) {
            return false;
        }
        if (!gate.tryEnterReturn()) {
            throw notDuringAnAllocation();
        }
        try {
            return returnUnreturned(address) > 0;
        } catch (TakenBackException e) {
            return true; // The allocator below has it.
        } finally {
            gate.exitReturn();
        }
    }

    private DeviceException notDuringAnAllocation() {
        return new DeviceException(
                "memory that " + resource + " did not take back is not returned during an allocation;"
                        + " it stays unreturned until a later call",
                null);
    }

    private boolean isUnreturned(long address) {
        live.lock.lock();
        final boolean isThere = unreturned.find(address) >= 0;
        live.lock.unlock();
        return isThere;
    }

    /** Returns the bytes that were deallocated; 0 if nothing is unreturned at the address. */
    private long returnUnreturned(long address) {
        long byteSize = 0;
        long number = 0;
        SyncStream stream = null;
        live.lock.lock();
        try {
            final int slot = unreturned.find(address);
            if (slot >= 0) {
                unreturned.expect(1, late);
                byteSize = unreturned.byteSize(slot);
                stream = unreturned.stream(slot);
                number = unreturned.beginAgain(slot, address);
            }
            live.lock.unlock();
        } catch (Throwable e) {
            live.lock.held = 0;
            throw e;
        }
        if (byteSize > 0) {
            giveBack(number, address, byteSize, stream, true);
        }
        return byteSize;
    }

    /** Returns the counters of these blocks. */
    AllocatorStats stats() {
        final AllocatorStats stats;
        live.lock.lock();
        try {
            stats = counts.toStats();
            live.lock.unlock();
        } catch (Throwable e) {
            live.lock.held = 0;
            throw e;
        }
        return stats;
    }

    /** Returns the bytes that are dead here, and live below. */
    long unreturnedBytes() {
        live.lock.lock();
        final long bytes = counts.unreturned();
        live.lock.unlock();
        return bytes;
    }

    /** Returns how often the result of {@link #unreturnedBytes} has changed so far. */
    long unreturnedChanges() {
        live.lock.lock();
        final long changes = counts.unreturnedChanges();
        live.lock.unlock();
        return changes;
    }

    /** Refuses every later call but this one and {@link #returnAgain}, and tries to return what is unreturned. */
    void close() {
        StackReserve.touch();
        live.lock.lock();
        try {
            if (!isClosed) {
                unreturned.expect(live.expected(), 0);
                late = live.expected();
                isClosed = true;
            }
            live.lock.unlock();
        } catch (Throwable e) {
            live.lock.held = 0;
            throw e;
        }
        if (returnAgain() < 0) {
            throw notDuringAnAllocation();
        }
    }

    void requireOpen() {
        StackReserve.touchBriefly();
        live.lock.lock();
        final boolean wasClosed = isClosed;
        live.lock.unlock();
        if (wasClosed) {
            throw closedException();
        }
    }

    private AllocatorClosedException closedException() {
        return new AllocatorClosedException("allocator over " + resource + " is closed");
    }
}
