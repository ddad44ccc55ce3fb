package allocator.arena;

import allocator.arena.chunk.Placement;
import allocator.provider.support.InvalidFrees;
import allocator.provider.support.LiveSizes;
import allocator.spi.OutOfMemoryException;

/** The reserves of a lane: allocations of the upstream allocator outside the regions, under the same limit. */
final class LaneReserves {
    private final Lane lane;
    private final Lanes lanes;

    /** Guarded by the lane's lock. */
    private final LiveSizes sizes = new LiveSizes();

    LaneReserves(Lane lane, Lanes lanes) {
        this.lane = lane;
        this.lanes = lanes;
    }

    /** Reserves memory. */
    long reserve(long byteSize) {
        lanes.deviceLock.lock();
        try {
            lane.lock.lock();
            try {
                lane.requireOpen();
                final long available = lanes.heldLimit.available();
                if (byteSize > available) {
                    throw lane.report().limitReached(available, byteSize, byteSize, null, true);
                }
            } finally {
                lane.lock.unlock();
            }
            return byteSize == 0 ? Placement.NO_ADDRESS : reserveUpstream(byteSize);
        } finally {
            lanes.deviceLock.unlock();
        }
    }

    private long reserveUpstream(long byteSize) {
        final long address;
        try {
            address = lane.upstream.alloc(byteSize);
        } catch (OutOfMemoryException e) {
            lane.lock.lock();
            try {
                throw lane.report().deviceFailed(byteSize, byteSize, null, true, e);
            } finally {
                lane.lock.unlock();
            }
        }
        lanes.obtained(address, byteSize);
        lane.lock.lock();
        try {
            sizes.put(address, byteSize);
            lane.counters.reserved(byteSize);
            assert lane.passesSampledCheck();
        } finally {
            lane.lock.unlock();
        }
        return address;
    }

    /** Frees a reserve. */
    void free(long address) {
        lanes.deviceLock.lock();
        try {
            final long byteSize;
            lane.lock.lock();
            try {
                lane.requireOpen();
                byteSize = sizes.remove(address);
                if (byteSize < 0) {
                    throw InvalidFrees.diagnose(sizes, address, lane.info);
                }
                lane.counters.freed(byteSize, byteSize);
                lane.returns.leaves(byteSize);
            } finally {
                lane.lock.unlock();
            }
            final RuntimeException failure = lane.returns.giveBack(address, byteSize, false);
            if (failure != null) {
                throw failure;
            }
        } finally {
            lanes.deviceLock.unlock();
        }
    }

    /** Returns the sizes of all reserves. Under the lane's lock. */
    LiveSizes sizes() {
        return sizes;
    }
}
