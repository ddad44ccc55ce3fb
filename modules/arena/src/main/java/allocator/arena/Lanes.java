package allocator.arena;

import allocator.arena.page.PageSource;
import allocator.arena.upstream.DeviceLock;
import allocator.arena.upstream.HeldLimit;
import allocator.arena.upstream.Upstream;
import allocator.provider.support.internal.Failures;
import allocator.spi.Allocator;
import allocator.spi.ShrinkReport;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The lanes of an arena, and what they share: the upstream allocator, the lock under which it is called, the limit, and
 * which lane each region belongs to. The main lane always exists and comes first.
 */
final class Lanes {
    /** Held while memory is taken from the device or returned to it. Taken before the lock of any lane. */
    final DeviceLock deviceLock = new DeviceLock();

    /** Held while a shrink or a close waits for streams and returns memory. Taken before the device lock. */
    final Object shrinkLock = new Object();

    final Upstream upstream;

    /** Provides the memory of chunks; {@code null} where regions of the upstream allocator do. */
    final @Nullable PageSource pages;

    final HeldLimit heldLimit;
    final Lane main;
    final LaneChoice choice;

    private final ArenaConfig config;
    private final AtomicLong failedRequests = new AtomicLong();
    private final List<Lane> all = new CopyOnWriteArrayList<>();

    /** The regions of all lanes but the main one. Written under the device lock. */
    private volatile LaneRegions regions = LaneRegions.NONE;

    Lanes(Allocator upstream, @Nullable PageSource pages, ArenaConfig config) {
        this.upstream = new Upstream(upstream);
        this.pages = pages;
        this.config = config;
        heldLimit = new HeldLimit(config.limit().available(0), this.upstream::unreturnedBytes);
        main = new Lane(this, 0, config);
        all.add(main);
        choice = new LaneChoice(this, config.maxLanes(), System::nanoTime);
    }

    /** Adds a lane, of which a shrink keeps no region. */
    Lane add() {
        final Lane lane = new Lane(this, all.size(), config.withKeepFirstRegion(false));
        all.add(lane);
        return lane;
    }

    /** Returns a view of all lanes. */
    List<Lane> all() {
        return all;
    }

    int count() {
        return all.size();
    }

    /**
     * Returns the lane with a region that contains an address; the main lane if there is none. Takes no lock, so the
     * lane looks the region up again under its own lock: a shrink may have detached it. With one lane this is one
     * comparison.
     */
    Lane at(long address) {
        final LaneRegions ofOthers = regions;
        return ofOthers == LaneRegions.NONE ? main : ofOthers.find(address, main);
    }

    /**
     * Requires that the calling thread may take memory of the device, or close the arena.
     *
     * @throws IllegalStateException if it is in a call by the arena: an upstream allocator or a stream is asking the
     *     arena for what the arena has planned without it
     */
    void requireOutsideDevice() {
        if (isInDevice()) {
            throw new IllegalStateException("the arena of " + main.info + " is in a call to its upstream allocator or "
                    + "to a stream, which may use and free what the arena holds, but not make it take more, "
                    + "nor close it");
        }
    }

    /** Returns whether the calling thread is in a call by the arena to its upstream allocator or to a stream. */
    boolean isInDevice() {
        return deviceLock.isHeld() || Thread.holdsLock(shrinkLock);
    }

    /** Counts a request that neither its lane nor any other could serve. */
    void requestFailed() {
        failedRequests.incrementAndGet();
    }

    /** Returns how many requests failed. */
    long failedRequests() {
        return failedRequests.get();
    }

    /** Makes room for a region of a lane, so that {@link #entered} cannot fail. Under the device lock. */
    LaneRegions roomFor(Lane lane) {
        return lane == main ? regions : regions.withRoom();
    }

    /** Records the lane of a region, before an address of it is handed out. Under the device lock. */
    void entered(LaneRegions room, Lane lane, long base, long byteSize) {
        if (lane != main) {
            regions = room.add(lane, base, byteSize);
        }
    }

    /** Forgets a region, if it is known, before the upstream allocator may hand it out again. Under the device lock. */
    void leaving(Lane lane, long base) {
        if (lane != main) {
            regions = regions.without(base);
        }
    }

    /**
     * Has memory that the upstream allocator's device did not take back offered to it again; not within a call to the
     * device. Returns the bytes that it has taken back.
     */
    long returnAgain() {
        if (upstream.unreturnedBytes() == 0 || isInDevice()) {
            return 0;
        }
        synchronized (deviceLock) {
            return upstream.returnAgain();
        }
    }

    /** Shrinks all lanes and returns the sum of their reports; throws at the end if a lane fails. */
    ShrinkReport shrink() {
        final long returned = returnAgain();
        final long before = upstream.unreturnedBytes();
        final ShrinkReport[] sum = {new ShrinkReport(0, 0, 0, 0, 0)};
        final Failures failures = new Failures();
        for (final Lane lane : all) {
            failures.run(() -> {
                sum[0] = sum[0].plus(lane.supply.shrink());
            });
        }
        failures.throwIfAny();
        return withUnreturned(sum[0], returned, before);
    }

    /** Adds to a report what the upstream allocator's device has taken back of earlier memory, and what it did not. */
    private ShrinkReport withUnreturned(ShrinkReport report, long returned, long before) {
        final long held = heldLimit.withUnreturned(report.bytesHeld());
        final long unreturned = held - report.bytesHeld();
        if (returned == 0 && unreturned == 0) {
            return report;
        }
        final long refused = Math.max(0, upstream.unreturnedBytes() - before);
        final List<ShrinkReport.Held> parts = new ArrayList<>(report.held());
        if (unreturned > 0) {
            parts.add(new ShrinkReport.Held(
                    unreturned, 0, "memory that the device failed to take back; the next shrink tries again"));
        }
        return new ShrinkReport(
                Math.max(0, report.bytesReleased() - refused) + returned,
                report.regionsReleased(),
                held,
                report.regionsInUse(),
                report.regionsKept(),
                parts);
    }

    /** Returns the sum of the {@linkplain Supply#changes changes} of all lanes. */
    long changes() {
        long changes = 0;
        for (final Lane lane : all) {
            changes += lane.supply.changes();
        }
        return changes;
    }

    /** Returns the bytes of idle pages of all lanes at one moment. Under the device lock. */
    long idleBytes() {
        return locked(each -> {
            long idle = 0;
            for (final Lane lane : each) {
                lane.begin();
                idle += lane.supply.idleBytes();
            }
            return idle;
        });
    }

    /**
     * Runs work on all lanes, under the locks of all. It is to {@linkplain Lane#begin begin} with each. A lane that is
     * added in between has no memory yet.
     */
    <T> T locked(Function<List<Lane>, T> work) {
        while (true) {
            final Lane[] each = all.toArray(Lane[]::new);
            int locked = 0;
            try {
                for (; locked < each.length; locked++) {
                    each[locked].lock.lock();
                }
                if (each.length == all.size()) {
                    return work.apply(List.of(each));
                }
            } finally {
                while (locked > 0) {
                    each[--locked].lock.unlock();
                }
            }
        }
    }

    /**
     * Closes all lanes; none, if the Java heap or the stack has no room for it. Returns everything, live or not, after
     * the streams that own it are done. What the device fails to take back stays known: another call tries to return it
     * again. While it waits for the streams, a call that needs the device is rejected at once and does not wait.
     */
    CloseReport close() {
        requireOutsideDevice();
        synchronized (shrinkLock) {
            final ArenaClose close = new ArenaClose();
            inDevice(() -> choice.close(() -> locked(close::closeAll)));
            close.awaitOwners();
            inDevice(close::giveBack);
            return close.report();
        }
    }

    private void inDevice(Runnable work) {
        synchronized (deviceLock) {
            work.run();
        }
    }
}
