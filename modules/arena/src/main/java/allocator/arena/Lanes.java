package allocator.arena;

import allocator.spi.Allocator;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The lanes of an arena, and what they share: the upstream allocator, the lock under which it is called, the budget,
 * and whose the regions are. The main lane is always there and comes first.
 */
final class Lanes {
    /** Held by whoever takes memory from the device or returns it. Before the lock of any lane. */
    final ReentrantLock deviceLock = new ReentrantLock();

    final Allocator upstream;
    final Budget budget;
    final Lane main;
    final LaneChoice choice;

    private final ArenaConfig config;
    private final List<Lane> all = new CopyOnWriteArrayList<>();

    /** Where the regions are that are not the main lane's. Written under the device lock. */
    private volatile LaneRegions regions = LaneRegions.NONE;

    Lanes(Allocator upstream, ArenaConfig config) {
        this.upstream = upstream;
        this.config = config;
        budget = new Budget(config.limit());
        main = new Lane(this, 0, config);
        all.add(main);
        choice = new LaneChoice(this, config.maxLanes(), System::nanoTime);
    }

    /** Makes one more; a shrink keeps nothing of it. */
    Lane add() {
        final Lane lane = new Lane(this, all.size(), config.withKeepFirstRegion(false));
        all.add(lane);
        return lane;
    }

    /** All of them; a view. */
    List<Lane> all() {
        return all;
    }

    int count() {
        return all.size();
    }

    /** The lane whose region an address lies in; the main lane if it lies in none. */
    Lane at(long address) {
        return regions.find(address, main);
    }

    /** Notes whose a region is, before an address of it is handed out. Under the device lock. */
    void entered(Lane lane, long base, long byteSize) {
        if (lane != main) {
            regions = regions.with(base, byteSize, lane);
        }
    }

    /** Forgets a region, before the upstream allocator may hand it out again. Under the device lock. */
    void leaving(Lane lane, long base) {
        if (lane != main) {
            regions = regions.without(base);
        }
    }

    /** Memory came from the upstream allocator: whoever could not return it has returned it after all. */
    void obtained(long address, long byteSize) {
        for (final Lane lane : all) {
            lane.forgetReturned(address, byteSize);
        }
    }
}
