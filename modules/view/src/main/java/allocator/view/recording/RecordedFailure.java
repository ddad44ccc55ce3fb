package allocator.view.recording;

import allocator.runtime.snapshot.Snapshot;
import allocator.runtime.snapshot.Snapshot.Failure;
import java.time.Instant;
import java.util.List;

/**
 * A request that failed, in a recording.
 *
 * @param at when
 * @param memory the memory, as its event names it
 * @param failure the request; its thread is empty, as it is not recorded
 */
public record RecordedFailure(Instant at, RecordedMemory memory, Failure failure) {
    /** Returns a snapshot of nothing but the failure, for its diagnosis. */
    Snapshot asSnapshot() {
        return new Snapshot(at, failure.owner(), failure, null, List.of(), List.of(), List.of(), List.of());
    }
}
