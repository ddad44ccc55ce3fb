package allocator.view.recording;

import allocator.runtime.snapshot.Snapshot;
import allocator.runtime.snapshot.Snapshot.Failure;
import java.time.Instant;
import java.util.List;

/**
 * A request that failed, in a recording. Figures are bytes, {@link Long#MIN_VALUE} where they are not known.
 *
 * @param at when
 * @param owner who made the request
 * @param memory the memory
 * @param requested the bytes requested
 * @param rounded the bytes that would have been taken
 * @param limit the limit, {@code -1} for none
 * @param inUse the bytes in use
 * @param held the bytes held
 * @param largestFree the largest free chunk that the requester could use
 * @param deviceFree the bytes free on the device
 * @param limitedBy the budget that rejected the request, empty if none did
 * @param reason the message of the exception
 * @param stack frames of the program, from the one that made the request outwards
 */
public record RecordedFailure(
        Instant at,
        String owner,
        RecordedMemory memory,
        long requested,
        long rounded,
        long limit,
        long inUse,
        long held,
        long largestFree,
        long deviceFree,
        String limitedBy,
        String reason,
        List<String> stack) {
    /** Copies the list. */
    public RecordedFailure {
        stack = List.copyOf(stack);
    }

    /** Returns a snapshot of nothing but the failure, for its diagnosis. */
    Snapshot asSnapshot() {
        final Failure failure = new Failure(
                reason,
                owner,
                "",
                RecordedStates.info(memory),
                requested,
                known(rounded),
                known(limit),
                known(inUse),
                known(held),
                known(largestFree),
                known(deviceFree),
                limitedBy,
                stack);
        return new Snapshot(at, owner, failure, null, List.of(), List.of(), List.of(), List.of());
    }

    private static long known(long figure) {
        return figure == Long.MIN_VALUE ? Failure.UNKNOWN : figure;
    }
}
