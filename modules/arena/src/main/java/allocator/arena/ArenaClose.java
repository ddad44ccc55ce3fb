package allocator.arena;

import allocator.arena.chunk.BestFit;
import allocator.arena.chunk.Region;
import allocator.arena.upstream.StreamWork;
import allocator.provider.support.Failures;
import allocator.provider.support.event.DevicePart;
import allocator.spi.SyncStream;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The close of an arena: {@link #closeAll} closes all of its lanes or none, {@link #giveBack} returns their memory. */
final class ArenaClose {
    private final List<Leaving> leavings = new ArrayList<>();
    private final Failures failures = new Failures();
    private List<SyncStream> owners = List.of();
    private CloseReport report = new CloseReport(0, 0, 0);

    /**
     * Closes lanes. If it throws, none is closed: nothing fails after room has been made in all of them. Under the
     * device lock and the locks of the lanes.
     */
    boolean closeAll(List<Lane> lanes) {
        final Map<Long, SyncStream> ownersById = new LinkedHashMap<>();
        for (final Lane lane : lanes) {
            final Leaving leaving = new Leaving(lane);
            leavings.add(leaving);
            report = report.plus(leaving.prepare(ownersById));
        }
        owners = List.copyOf(ownersById.values());
        leavings.forEach(Leaving::leave);
        return true;
    }

    /** Waits for the streams that own memory of the lanes; without a lock of them, and not under the device lock. */
    void awaitOwners() {
        for (int i = 0; i < owners.size(); i++) { // without Java heap, which may have ended
            try {
                StreamWork.await(owners.get(i));
            } catch (Throwable e) {
                failures.add(e);
            }
        }
    }

    /**
     * Returns the memory of the lanes. What the upstream allocator fails to free stays known. Under the device lock.
     */
    void giveBack() {
        leavings.forEach(leaving -> failures.run(leaving::giveBack));
        failures.throwIfAny();
    }

    /** Returns what was closed. */
    CloseReport report() {
        return report;
    }

    /** What leaves a lane. */
    private final class Leaving {
        private final Lane lane;
        private long[] addresses = {};

        Leaving(Lane lane) {
            this.lane = lane;
        }

        /**
         * Makes room for {@link #leave}. Under the lane's lock.
         *
         * @param owners the streams to wait for are added to it
         * @return what will leave; of a lane that is closed, what is still held
         */
        CloseReport prepare(Map<Long, SyncStream> owners) {
            if (lane.isClosed()) {
                addresses = lane.blocks.addresses();
                return new CloseReport(0, 0, lane.counters.held());
            }
            lane.begin();
            lane.placement.mergeCached();
            long live = lane.blocks.countReserves();
            for (final Region region : lane.regions.toList()) {
                live += region.chunksInUse();
                lane.placement.addOwners(region, owners);
            }
            lane.supply.addOwners(owners);
            lane.placement.step = BestFit.WHOLE;
            final int more = lane.regions.count();
            addresses = new long[lane.blocks.count() + more];
            lane.blocks.expect(more);
            return new CloseReport(live, lane.counters.requested(), lane.counters.held());
        }

        /** Lets all memory leave, and closes the lane. Under the lane's lock, since {@link #prepare}. */
        void leave() {
            if (!lane.isClosed()) {
                lane.supply.leave();
                lane.blocks.leaveAll(addresses);
                lane.markClosed();
            }
        }

        void giveBack() {
            for (final long address : addresses) {
                if (address != BestFit.NO_ADDRESS) {
                    failures.add(lane.blocks.giveBack(address, DevicePart.CLOSED));
                }
            }
            lane.supply.giveBack(failures);
        }
    }
}
