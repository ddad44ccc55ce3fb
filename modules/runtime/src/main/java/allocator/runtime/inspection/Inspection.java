package allocator.runtime.inspection;

import allocator.provider.support.event.AllocatorEvents;
import allocator.runtime.metrics.Observation;
import allocator.runtime.options.RuntimeKeys;
import allocator.runtime.snapshot.Snapshot;
import allocator.runtime.snapshot.Snapshot.Failure;
import allocator.spi.InvalidOptionException;
import java.util.Map;
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
     * @param settings the options by key, and any others
     * @param origin where they were set, for messages
     * @param taker takes the snapshot of a failure
     * @param uses lists all uses at a moment
     * @throws InvalidOptionException if a value is not accepted
     */
    public Inspection(
            Map<String, String> settings,
            String origin,
            Function<Failure, Snapshot> taker,
            Supplier<Stream<AllocatorUse>> uses) {
        snapshots = new FailureSnapshots(settings.get(RuntimeKeys.SNAPSHOT_ON_FAILURE), taker);
        observers = new Observers(uses);
        this.origin = origin;
        hasBeans = RuntimeKeys.JMX.parse(settings.getOrDefault(RuntimeKeys.JMX.name(), "0"), origin);
        history = RuntimeKeys.HISTORY.parse(settings.getOrDefault(RuntimeKeys.HISTORY.name(), "0"), origin);
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
     * Returns whether a key is one of the options.
     *
     * @param key any key
     * @return whether it is
     */
    public static boolean isOption(String key) {
        return key.equals(RuntimeKeys.SNAPSHOT_ON_FAILURE)
                || key.equals(RuntimeKeys.JMX.name())
                || key.equals(RuntimeKeys.HISTORY.name());
    }

    /**
     * Checks the value of one of the options.
     *
     * @param key the option
     * @param value its value
     * @param origin where it was set, for the message
     * @throws InvalidOptionException if the value is not accepted
     */
    public static void requireValid(String key, String value, String origin) {
        if (key.equals(RuntimeKeys.SNAPSHOT_ON_FAILURE)) {
            DirectoryOption.requirePath(key, value, origin);
        } else if (key.equals(RuntimeKeys.JMX.name())) {
            final boolean ignored = RuntimeKeys.JMX.parse(value, origin);
        } else {
            final int ignored = RuntimeKeys.HISTORY.parse(value, origin);
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
