package allocator.runtime.inspection;

import allocator.provider.support.event.AllocatorEvents;
import allocator.runtime.metrics.AllocatorListener;
import allocator.runtime.metrics.Observation;
import allocator.runtime.options.RuntimeKeys;
import allocator.runtime.snapshot.Snapshot;
import allocator.runtime.snapshot.Snapshot.Failure;
import allocator.spi.InvalidOptionException;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.Stream;

/** What an owner of allocators shows of them if its options ask for it: snapshots of failures, beans, recent events. */
public final class Inspection {
    private final FailureSnapshots snapshots;
    private final Observers observers;
    private final InspectionOptions options;
    private boolean remembers;

    /**
     * Reads the options; {@link #begin} begins what they ask for.
     *
     * @param taker takes the snapshot of a failure
     * @param uses lists all uses at a moment
     */
    public Inspection(
            InspectionOptions options, Function<Failure, Snapshot> taker, Supplier<Stream<AllocatorUse>> uses) {
        this.options = options;
        snapshots = new FailureSnapshots(options.failures, options.frames, taker);
        observers = new Observers(uses);
    }

    /**
     * Begins what the options ask for, once its uses can be listed; {@link #end} ends it.
     *
     * @throws InvalidOptionException if beans are asked for and the runtime image has none
     */
    public void begin() {
        if (options.hasBeans) {
            final Observation ignored = observers.add(beans());
        }
        remembers = options.history > 0;
        if (remembers) {
            AllocatorEvents.remember(options.history);
        }
    }

    /** Makes the listener of a class that cannot be linked where the runtime image has no beans. */
    private AllocatorListener beans() {
        try {
            return new ManagementBeans();
        } catch (LinkageError e) {
            throw new InvalidOptionException(
                    RuntimeKeys.JMX.name(),
                    "1",
                    "accepted without the module java.management: start java with --add-modules java.management",
                    options.origin);
        }
    }

    /** {@return what requests that fail for lack of memory are reported to} */
    public FailureSnapshots snapshots() {
        return snapshots;
    }

    /** {@return the listeners, those of the options included} */
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
