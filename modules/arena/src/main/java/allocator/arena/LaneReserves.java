package allocator.arena;

import allocator.arena.chunk.Placement;
import allocator.arena.upstream.UpstreamAddress;
import allocator.arena.upstream.UpstreamCalls;
import allocator.provider.support.FailedReturn;
import allocator.provider.support.InvalidFrees;
import allocator.provider.support.LiveSizes;
import allocator.provider.support.StackReserve;
import allocator.provider.support.event.DevicePart;
import allocator.spi.DeviceException;
import allocator.spi.OutOfMemoryException;

/** The reserves of a lane: allocations of the upstream allocator outside the regions, under the same limit. */
final class LaneReserves {
    private final Lane lane;
    private final Lanes lanes;

    /** Guarded by the lane's lock. Room for one more is made before memory is taken. */
    private final LiveSizes sizes = new LiveSizes();

    LaneReserves(Lane lane, Lanes lanes) {
        this.lane = lane;
        this.lanes = lanes;
        FailedReturn.prepare();
    }

    /** Reserves memory. */
    long reserve(long byteSize) {
        StackReserve.touch();
        lanes.lockDevice();
        try {
            lane.locked(() -> prepare(byteSize));
            return byteSize == 0 ? Placement.NO_ADDRESS : reserveUpstream(byteSize);
        } finally {
            lanes.deviceLock.unlock();
        }
    }

    private boolean prepare(long byteSize) {
        final long available = lanes.heldLimit.available();
        if (byteSize > available) {
            throw lane.report().limitReached(available, byteSize, byteSize, null, true);
        }
        sizes.ensureRoom();
        lane.returns.ensureRoom(1);
        return true;
    }

    private long reserveUpstream(long byteSize) {
        final long address;
        try {
            address = UpstreamCalls.take(lane.upstream, DevicePart.RESERVE, byteSize);
        } catch (OutOfMemoryException e) {
            throw lane.report().deviceFailed(byteSize, byteSize, null, true, e);
        }
        lanes.obtained(address, byteSize);
        final DeviceException unusable = UpstreamAddress.failure(lane.info, address, byteSize);
        if (unusable != null) {
            lane.returns.returnUnused(address, byteSize);
            throw unusable;
        }
        lane.lock.lock();
        try {
            sizes.put(address, byteSize);
            lane.counters.reserved(byteSize);
        } finally {
            lane.lock.unlock();
        }
        return address;
    }

    /** Frees a reserve. */
    void free(long address) {
        StackReserve.touch();
        lanes.deviceLock.lock();
        try {
            lane.locked(() -> leave(address));
            final Throwable failure = lane.returns.giveBack(address, DevicePart.RESERVE);
            if (failure != null) {
                throw FailedReturn.of(failure);
            }
        } finally {
            lanes.deviceLock.unlock();
        }
    }

    private boolean leave(long address) {
        final long byteSize = sizes.sizeOf(address);
        if (byteSize == LiveSizes.NONE) {
            throw InvalidFrees.diagnose(sizes, address, lane.info);
        }
        lane.returns.ensureRoom(1);
        sizes.remove(address);
        lane.counters.reserveFreed(byteSize);
        lane.returns.leaves(address, byteSize);
        return true;
    }

    /** Returns the sizes of all reserves. Under the lane's lock. */
    LiveSizes sizes() {
        return sizes;
    }
}
