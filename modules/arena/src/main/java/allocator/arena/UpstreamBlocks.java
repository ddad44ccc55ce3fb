package allocator.arena;

import allocator.arena.chunk.BestFit;
import allocator.arena.page.ReservePages;
import allocator.provider.support.event.DevicePart;
import allocator.provider.support.internal.Failures;
import allocator.provider.support.internal.LongTable;
import allocator.spi.AllocatorSnapshot.Chunk;
import allocator.spi.AllocatorSnapshot.State;
import allocator.spi.DoubleFreeException;
import allocator.spi.ForeignAddressException;
import allocator.spi.InteriorAddressException;
import allocator.spi.InvalidFreeException;
import allocator.spi.OutOfMemoryException;
import allocator.spi.PagedReserves;
import allocator.spi.RemappableReserves;
import java.util.ArrayList;
import java.util.List;
import java.util.function.LongUnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * The blocks of the upstream allocator that are no regions of a lane: reserves, which are allocations under the same
 * limit, and what is <em>leaving</em>. Memory leaves when its owner has no more use for it, and is held until the
 * upstream allocator has freed it; what that one fails to free stays until the close frees it again.
 */
final class UpstreamBlocks implements PagedReserves, RemappableReserves {
    private final Lane lane;
    private final Lanes lanes;

    /** Of a reserve the size requested, of memory that is leaving its size negated. Guarded by the lane's lock. */
    private final LongTable<Void> sizes = new LongTable<>(false);

    /** What reserves with one copy save, as far as it is counted. Guarded by the lane's lock. */
    private long shared;

    /** The same with what whole pages add. Guarded by the lane's lock. */
    private long sharedHeld;

    /** What the close gives back: listed before it, as the Java heap may have ended then. */
    private long[] closing = {};

    /** Whether the table is being changed; also after the thread's stack has ended in a change. */
    private boolean isChanging;

    /** Whether nothing was to be repaired when the change began; a change leaves what is to be repaired as it is. */
    private boolean wasWhole;

    UpstreamBlocks(Lane lane) {
        this.lane = lane;
        lanes = lane.lanes;
    }

    /** Reserves memory. */
    long reserve(long byteSize) {
        lanes.requireOutsideDevice();
        return enter(byteSize, heldBytes(byteSize), size -> lanes.upstream.take(DevicePart.RESERVE, size));
    }

    @Override
    public long pageBytes() {
        return lanes.upstream.paged().orElseThrow().pageBytes();
    }

    @Override
    public long mappedBytes(long address) {
        synchronized (lanes.deviceLock) {
            final long ignored = lane.lockedLong(() -> 0); // requires an open lane
            return lanes.upstream.paged().map(on -> on.mappedBytes(address)).orElse(-1L);
        }
    }

    @Override
    public void map(long address, Part parts) {
        lanes.requireOutsideDevice();
        synchronized (lanes.deviceLock) {
            final ReservePages on = lanes.upstream.paged().orElseThrow();
            final long requested = mappedBytes(address) == 0 ? on.requestedSize(address) : 0;
            if (requested == 0) {
                on.map(address, parts); // rejects it
            }
            try {
                final long ignored =
                        enter(requested, on.bytesToMap(address), size -> lanes.upstream.map(on, address, size, parts));
            } catch (OutOfMemoryException e) {
                lanes.requestFailed();
                throw e;
            }
        }
    }

    /** The upstream allocator still has the address, which counts nowhere here. */
    @Override
    public void unmap(long... addresses) {
        lanes.requireOutsideDevice();
        final ReservePages on = lanes.upstream.paged().orElseThrow();
        if (addresses.length > 0) {
            on.awaitDevice(); // without the lock, for which other allocations wait
        }
        for (final long address : addresses) {
            synchronized (lanes.deviceLock) {
                lanes.upstream.unmap(on, address, mappedBytes(address));
                forget(address);
            }
        }
    }

    /** Ends the count of a reserve that has lost its pages. */
    private void forget(long address) {
        lane.lock.lock();
        try {
            beginChange();
            final int slot = sizes.find(address);
            final long requested = sizes.value(slot);
            lane.counters.reserveFreed(requested);
            lane.counters.returned(heldBytes(requested));
            sizes.remove(slot);
            countShared();
            endChange();
        } finally {
            lane.lock.unlock();
        }
    }

    /** Takes memory of the device and enters it as a reserve. */
    private long enter(long byteSize, long held, LongUnaryOperator take) {
        synchronized (lanes.deviceLock) {
            prepare(byteSize, held);
            long address = BestFit.NO_ADDRESS;
            if (byteSize > 0) {
                try {
                    address = take.applyAsLong(byteSize);
                } catch (OutOfMemoryException e) {
                    throw lane.report().deviceFailed(byteSize, heldBytes(byteSize), null, true, e);
                } finally {
                    taken(address, byteSize);
                }
            }
            return address;
        }
    }

    private void prepare(long byteSize, long held) {
        lane.lock.lock();
        try {
            lane.begin();
            final long available = lanes.heldLimit.available();
            if (held > available) {
                throw lane.report().limitReached(available, byteSize, held, null, true);
            }
            if (byteSize > 0) {
                sizes.expect();
            }
            lane.placement.step = BestFit.WHOLE;
        } finally {
            lane.lock.unlock();
        }
    }

    private void taken(long address, long byteSize) {
        lane.lock.lock();
        try {
            if (address == BestFit.NO_ADDRESS) {
                sizes.expectNoMore();
            } else {
                beginChange();
                countShared(); // first, as peaks are not to count it twice
                sizes.add(address, byteSize, null);
                lane.counters.reserved(byteSize);
                lane.counters.hold(heldBytes(byteSize) - byteSize);
                endChange();
            }
        } finally {
            lane.lock.unlock();
        }
    }

    /** Frees a reserve. */
    void free(long address) {
        synchronized (lanes.deviceLock) {
            if (lanes.upstream.paged().isPresent() && mappedBytes(address) == 0) {
                lanes.upstream.paged().orElseThrow().free(address);
                return;
            }
            leave(address);
            giveBack(address, DevicePart.RESERVE);
        }
    }

    private void leave(long address) {
        lane.lock.lock();
        try {
            lane.begin();
            final int slot = sizes.find(address);
            if (slot < 0 || sizes.value(slot) < 0) {
                throw invalidFree(address, slot);
            }
            beginChange();
            final long requested = sizes.value(slot);
            sizes.setValue(slot, -heldBytes(requested));
            lane.counters.reserveFreed(requested);
            endChange();
            lane.placement.step = BestFit.WHOLE;
        } finally {
            lane.lock.unlock();
        }
    }

    @Override
    public long share(long address) {
        lanes.requireOutsideDevice();
        synchronized (lanes.deviceLock) {
            final PagedReserves reserves = lanes.upstream.reserves();
            if (reserves == null || lane.locked(() -> sizeOfReserve(address)) < LEAST_BYTES) {
                return 0;
            }
            try {
                return reserves.share(address);
            } finally {
                if (mappedBytes(address) == 0) {
                    forget(address);
                } else {
                    lane.locked(() -> {
                        beginChange();
                        countShared();
                        endChange();
                        return true;
                    });
                }
            }
        }
    }

    @Override
    public long copyOf(long address) {
        synchronized (lanes.deviceLock) {
            final PagedReserves reserves = lanes.upstream.reserves();
            return reserves == null ? 0 : reserves.copyOf(address);
        }
    }

    @Override
    public long sharedBytes() {
        return lanes.upstream.sharedBytes();
    }

    /** Counts what has one copy now once. Reserves are the main lane's. Under the device lock and the lane's. */
    private void countShared() {
        final long more = lane == lanes.main ? lanes.upstream.sharedBytes() - shared : 0;
        if (more != 0) {
            final long moreHeld = lanes.upstream.sharedHeldBytes() - sharedHeld;
            lane.counters.shared(more, moreHeld);
            shared += more;
            sharedHeld += moreHeld;
        }
    }

    private void beginChange() {
        repair();
        isChanging = true;
        wasWhole = lane.placement.step == BestFit.WHOLE;
        if (wasWhole) {
            lane.placement.step = BestFit.BEGUN;
        }
    }

    private void endChange() {
        isChanging = false;
        if (wasWhole) {
            lane.placement.step = BestFit.WHOLE;
        }
    }

    /** Repairs the table if a change was left half done. Under the lane's lock. */
    void repair() {
        if (isChanging) {
            sizes.repair();
            isChanging = false;
        }
    }

    private InvalidFreeException invalidFree(long address, int slot) {
        if (slot >= 0) {
            return new DoubleFreeException(address, "it was freed already, and " + lane.info + " still holds it");
        }
        for (int other = 0; other < sizes.capacity(); other++) {
            final long start = sizes.address(other);
            if (start != 0 && Long.compareUnsigned(address - start, sizes.value(other)) < 0 && sizes.value(other) > 0) {
                return new InteriorAddressException(
                        address,
                        (address - start) + " bytes into the block of " + sizes.value(other) + " bytes at 0x"
                                + Long.toHexString(start) + " of " + lane.info);
            }
        }
        return new ForeignAddressException(address, "not a live block of " + lane.info);
    }

    /** Makes room for some calls of {@link #leaves}, so that they cannot fail. Under the lane's lock. */
    void expect(int count) {
        int expected = 0;
        try {
            for (; expected < count; expected++) {
                sizes.expect();
            }
        } catch (OutOfMemoryError e) {
            for (; expected > 0; expected--) {
                sizes.expectNoMore();
            }
            throw e;
        }
    }

    /** Enters memory that leaves the other tables. Under the lane's lock. */
    void leaves(long address, long byteSize) {
        sizes.add(address, -byteSize, null);
    }

    /** Makes room for {@link #leaveAll}, and for some calls of {@link #leaves} before it. Under the lane's lock. */
    void prepareClose(int more) {
        closing = new long[sizes.count() + more];
        expect(more);
    }

    /** Makes all reserves leave, as the lane is closed, and lists all that is leaving. Under the lane's lock. */
    void leaveAll() {
        int listed = 0;
        for (int slot = 0; slot < sizes.capacity(); slot++) {
            if (sizes.address(slot) != 0) {
                final long size = sizes.value(slot);
                sizes.setValue(slot, size < 0 ? size : -heldBytes(size));
                closing[listed++] = sizes.address(slot);
            }
        }
    }

    /** Frees what {@link #leaveAll} has listed. Under the device lock. */
    void giveBackAll(Failures failures) {
        for (final long address : closing) {
            if (address != BestFit.NO_ADDRESS) {
                failures.add(giveBack(address, DevicePart.CLOSE));
            }
        }
    }

    /** Frees memory that is leaving, under the device lock. Returns why it stays, {@code null} if it has left. */
    @Nullable
    Throwable giveBack(long address, DevicePart part) {
        final long byteSize = -valueAt(address);
        lanes.leaving(lane, address);
        final Throwable failure = lanes.upstream.giveBack(address, byteSize, part);
        if (failure == null) {
            lane.lock.lock();
            try {
                beginChange();
                sizes.remove(sizes.find(address));
                if (part == DevicePart.REGION) {
                    lane.counters.shrunk(byteSize);
                } else {
                    lane.counters.returned(byteSize);
                }
                countShared();
                endChange();
            } finally {
                lane.lock.unlock();
            }
        }
        return failure;
    }

    private long valueAt(long address) {
        lane.lock.lock();
        try {
            return sizes.value(sizes.find(address));
        } finally {
            lane.lock.unlock();
        }
    }

    /** Returns the bytes that a reserve takes. */
    private long heldBytes(long requested) {
        return lanes.upstream.reserveBytes(requested);
    }

    /** Returns the size of a reserve as requested; -1 if none starts there. Under the lane's lock. */
    long sizeOfReserve(long address) {
        final int slot = sizes.find(address);
        return slot < 0 ? -1 : Math.max(-1, sizes.value(slot));
    }

    /** Returns the bytes of all reserves, of those with one copy once. Under the lane's lock. */
    long reservedBytes() {
        return sum(false) - shared;
    }

    /** Returns the same with what whole pages add. Under the lane's lock. */
    long heldByReserves() {
        long sum = -sharedHeld;
        for (int slot = 0; slot < sizes.capacity(); slot++) {
            sum += sizes.address(slot) == 0 ? 0 : heldBytes(Math.max(0, sizes.value(slot)));
        }
        return sum;
    }

    /** Returns the bytes that are leaving. Under the lane's lock. */
    long leavingBytes() {
        return sum(true);
    }

    private long sum(boolean isLeaving) {
        long sum = 0;
        for (int slot = 0; slot < sizes.capacity(); slot++) {
            if (sizes.address(slot) != 0 && isLeaving == sizes.value(slot) < 0) {
                sum += Math.abs(sizes.value(slot));
            }
        }
        return sum;
    }

    /** Lists the reserves and what is leaving. Under the lane's lock. */
    List<Chunk> list() {
        final List<Chunk> blocks = new ArrayList<>();
        for (int slot = 0; slot < sizes.capacity(); slot++) {
            final long address = sizes.address(slot);
            final long byteSize = sizes.value(slot);
            if (address != 0) {
                blocks.add(
                        byteSize > 0
                                ? new Chunk(address, byteSize, byteSize, State.LIVE, 0)
                                : new Chunk(address, -byteSize, 0, State.UNRETURNED, 0));
            }
        }
        return blocks;
    }
}
