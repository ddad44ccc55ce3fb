package allocator.view;

import allocator.runtime.snapshot.Snapshot;
import allocator.runtime.snapshot.Snapshot.AllocatorState;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Memory over events that were observed where they happened, with its state at some of them.
 *
 * @param subtitle what was observed, in a few words
 * @param failure a snapshot with the failure to be explained; {@code null} if there was none
 * @param profile what was requested and held
 * @param moments the states
 */
public record Timeline(String subtitle, @Nullable Snapshot failure, TraceProfile profile, List<Moment> moments) {
    /** Copies the list. */
    public Timeline {
        moments = List.copyOf(moments);
    }

    /**
     * A state.
     *
     * @param name its name
     * @param event the number of the event after which it was, from 0
     * @param state the memory
     */
    public record Moment(String name, int event, AllocatorState state) {}
}
