package allocator.arena;

import allocator.arena.upstream.StreamWork;
import allocator.provider.support.internal.Failures;
import allocator.spi.SyncStream;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The close of an arena: {@link #closeAll} closes all of its lanes or none, {@link #giveBack} returns their memory. */
final class ArenaClose {
    private final Failures failures = new Failures();
    private List<Lane> lanes = List.of();
    private List<SyncStream> owners = List.of();
    private CloseReport report = new CloseReport(0, 0, 0);

    /**
     * Closes lanes. If it throws, none is closed: nothing fails after room has been made in all of them. Under the
     * device lock and the locks of the lanes.
     */
    boolean closeAll(List<Lane> all) {
        final Map<Long, SyncStream> ownersById = new LinkedHashMap<>();
        for (final Lane lane : all) {
            report = report.plus(lane.prepareClose(ownersById));
        }
        owners = List.copyOf(ownersById.values());
        lanes = all;
        all.forEach(Lane::close);
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

    /** Returns the lanes' memory. What the upstream allocator fails to free stays known. Under the device lock. */
    void giveBack() {
        lanes.forEach(lane -> failures.run(() -> lane.giveBack(failures)));
        failures.throwIfAny();
    }

    /** Returns what was closed. */
    CloseReport report() {
        return report;
    }
}
