package allocator.resource;

import allocator.provider.support.Failures;
import allocator.provider.support.LiveSizes;
import allocator.provider.support.ReturnsUnderWay;
import allocator.provider.support.StackReserve;
import allocator.resource.base.AddressTable;
import allocator.spi.AllocatorClosedException;
import allocator.spi.AllocatorStats;
import allocator.spi.DeviceException;
import allocator.spi.ForeignAddressException;
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
    private final AddressTable<SyncStream> unreturned = new AddressTable<>();
    private final LiveSizes unreturnedInOrder = new LiveSizes();
    private final ReturnsUnderWay leaving = new ReturnsUnderWay();
    private final BlockCounts counts = new BlockCounts();
    private boolean isClosed;

    LiveBlocks(StreamOrderedMemoryResource resource) {
        this.resource = resource;
    }

    /** Allocates and records a block; arguments and failures are those of the allocator. */
    long allocate(long byteSize, @Nullable SyncStream stream, boolean isReserve) {
        prepare();
        long address = 0;
        try {
            address = allocateBelow(byteSize, stream, isReserve);
        } catch (OutOfMemoryException e) {
            failed();
            throw e;
        } finally {
            if (address == 0) {
                live.abandon();
            }
        }
        final long tooLate = address == 0 ? 0 : record(address, byteSize, stream, isReserve);
        if (tooLate != 0) {
            giveBack(tooLate, address, byteSize, stream, true);
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

    private long allocateBelow(long byteSize, @Nullable SyncStream stream, boolean isReserve) {
        final long byteAlignment = resource.memory().byteAlignment();
        if (stream != null) {
            return resource.allocate(byteSize, byteAlignment, stream);
        }
        return isReserve ? resource.reserve(byteSize, byteAlignment) : resource.allocate(byteSize, byteAlignment);
    }

    private void failed() {
        live.lock.lock();
        counts.failed++;
        live.lock.unlock();
    }

    /** Records an allocation; returns the number of its return, which has begun, if this allocator is closed. */
    private long record(long address, long byteSize, @Nullable SyncStream stream, boolean isReserve) {
        long number = 0;
        live.lock.lock();
        try {
            live.expectNoMore();
            forgetOverlapping(address, byteSize);
            if (isClosed) {
                expectUnreturned();
                counts.arrivedDead(byteSize);
                number = leaving.begin(address, byteSize);
            } else {
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

    /** Forgets what the resource has taken back before it handed memory out, whatever it reports or reported then. */
    private void forgetOverlapping(long address, long byteSize) {
        for (long start = unreturnedInOrder.overlapping(address, byteSize);
                start != LiveSizes.NONE;
                start = unreturnedInOrder.overlapping(address, byteSize)) {
            counts.forgotten(unreturnedInOrder.remove(start));
            unreturned.remove(unreturned.find(start));
        }
        counts.returned(leaving.handedOut(address, byteSize));
    }

    /** Makes room for a block that leaves, in this table and that of unreturned blocks. */
    private void expectUnreturned() {
        leaving.ensureRoom(1);
        unreturnedInOrder.ensureRoom(leaving.count() + 1);
        unreturned.expect();
    }

    /** Frees a live block, or deallocates an unreturned one again. */
    void free(long address) {
        StackReserve.touchShallow();
        boolean isOpen;
        boolean isDead = false;
        long byteSize = -1;
        long number = 0;
        SyncStream stream = null;
        live.lock.lock();
        try {
            isOpen = !isClosed;
            if (isOpen) {
                AddressTable<SyncStream> from = live;
                int slot = live.find(address);
                if (slot < 0) {
                    isDead = true;
                    from = unreturned;
                    slot = unreturned.find(address);
                }
                if (slot >= 0) {
                    expectUnreturned();
                    byteSize = from.value(slot);
                    stream = from.attachment(slot);
                    number = leaving.begin(address, byteSize);
                    if (isDead) {
                        unreturned.remove(slot);
                        unreturnedInOrder.remove(address);
                        counts.leavingAgain(byteSize);
                    } else {
                        live.removeForNow(slot);
                        counts.leaving(byteSize);
                    }
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
        if (byteSize < 0) {
            throw new ForeignAddressException(address, "not a live block of the allocator over " + resource);
        }
        giveBack(number, address, byteSize, stream, isDead);
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
            unreturned.expectNoMore();
            if (!wasDead) {
                live.expectNoMore();
            }
            final boolean isOurs = leaving.end(address, number); // otherwise it counts as returned since
            if (isOurs && !isUnreturned) {
                counts.returned(byteSize);
            } else if (isOurs && isLive && !isClosed) {
                live.add(address, byteSize, stream);
                counts.restored(byteSize);
            } else if (isOurs) {
                unreturned.add(address, byteSize, stream);
                unreturnedInOrder.put(address, byteSize);
                counts.notReturned(byteSize);
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

    /** Tries to deallocate again what is unreturned; all is tried, and the first failure thrown at the end. */
    void returnAgain() {
        StackReserve.touch();
        final long[] addresses = unreturnedAddresses();
        final Failures failure = new Failures();
        for (long address : addresses) {
            try {
                returnUnreturned(address);
            } catch (Throwable e) {
                failure.add(e);
            }
        }
        failure.throwIfAny();
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

    /** Tries to deallocate again what is unreturned at an address; returns false if nothing is. */
    boolean returnAgain(long address) {
        StackReserve.touch();
        return returnUnreturned(address);
    }

    private boolean returnUnreturned(long address) {
        long byteSize = 0;
        long number = 0;
        SyncStream stream = null;
        live.lock.lock();
        try {
            final int slot = unreturned.find(address);
            if (slot >= 0) {
                expectUnreturned();
                byteSize = unreturned.value(slot);
                stream = unreturned.attachment(slot);
                number = leaving.begin(address, byteSize);
                unreturned.remove(slot);
                unreturnedInOrder.remove(address);
                counts.leavingAgain(byteSize);
            }
            live.lock.unlock();
        } catch (Throwable e) {
            live.lock.held = 0;
            throw e;
        }
        if (byteSize == 0) {
            return false;
        }
        try {
            giveBack(number, address, byteSize, stream, true);
        } catch (TakenBackException e) {
            // The allocator below has it.
        }
        return true;
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
        isClosed = true;
        live.lock.unlock();
        returnAgain();
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
