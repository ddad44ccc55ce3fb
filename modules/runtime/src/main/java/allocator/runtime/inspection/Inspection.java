package allocator.runtime.inspection;

import allocator.provider.support.event.AllocatorEvents;
import allocator.runtime.metrics.Observation;
import allocator.runtime.snapshot.Snapshot;
import allocator.runtime.snapshot.Snapshot.Failure;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.Stream;

/** What an owner of allocators shows of them if its options ask for it: snapshots of failures, beans, recent events. */
public final class Inspection {
    private final FailureSnapshots snapshots;
    private final Observers observers;
    private final String origin;
    private final boolean hasBeans;
    private final int history;
    private boolean remembers;

    /**
     * Reads the options; {@link #begin} begins what they ask for.
     *
     * @param options what is asked for
     * @param taker takes the snapshot of a failure
     * @param uses lists all uses at a moment
     */
    public Inspection(
            InspectionOptions options, Function<Failure, Snapshot> taker, Supplier<Stream<AllocatorUse>> uses) {
        snapshots = new FailureSnapshots(options.failures(), options.frames(), taker);
        observers = new Observers(uses);
        origin = options.origin();
        hasBeans = options.hasBeans();
        history = options.history();
    }

    /** Begins what the options ask for, once its uses can be listed; {@link #end} ends it. */
    public void begin() {
        if (hasBeans) {
            final Observation ignored = observers.add(Beans.create(origin));
        }
        remembers = history > 0;
        if (remembers) {
            AllocatorEvents.remember(history);
        }
    }

    /**
     * Returns what requests that fail for lack of memory are reported to.
     *
     * @return the snapshots of failures
     */
    public FailureSnapshots snapshots() {
        return snapshots;
    }

    /**
     * Returns the listeners, those of the options included.
     *
     * @return the observers
     */
    public Observers observers() {
        return observers;
    }

    /** Ends all observations, and remembers no more events. A further call does nothing. */
    public void end() {
        observers.end();
        if (remembers) {
            remembers = false;
            AllocatorEvents.forget();
        }
    }
}
