package allocator.view;

import allocator.runtime.snapshot.Snapshot;
import allocator.runtime.snapshot.Snapshot.AllocatorState;
import allocator.runtime.snapshot.Snapshot.Failure;
import allocator.spi.AllocatorSnapshot.State;
import java.util.Collections;
import java.util.Comparator;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Chooses what a page shows, and what first: the memory that ran out, otherwise that with the most live bytes. */
final class ShownFirst {
    private static final int MOST_SHOWN = 200;

    /** Orders allocators by the bytes of their live blocks, then by the bytes that they hold. */
    private static final Comparator<AllocatorState> MOST = Comparator.comparingLong(ShownFirst::liveBytes)
            .thenComparingLong(allocator -> allocator.stats().bytesHeld());

    private ShownFirst() {}

    /** Returns the allocators that a page has room for, in their order. */
    static List<AllocatorState> shown(Snapshot snapshot) {
        if (snapshot.allocators().size() <= MOST_SHOWN) {
            return snapshot.allocators();
        }
        final Set<AllocatorState> shown = Collections.newSetFromMap(new IdentityHashMap<>());
        Diagnosis.failedAllocator(snapshot).ifPresent(shown::add);
        snapshot.allocators().stream()
                .sorted(MOST.reversed())
                .limit(MOST_SHOWN - shown.size())
                .forEach(shown::add);
        return snapshot.allocators().stream().filter(shown::contains).toList();
    }

    /** Returns the index of an allocator of those shown; 0 if there is none. */
    static int of(Snapshot snapshot, List<AllocatorState> shown) {
        return first(shown, Diagnosis.failedAllocator(snapshot).orElse(null));
    }

    /** Returns the index of a moment; 0 if there is none. */
    static int of(Timeline timeline) {
        final Snapshot snapshot = timeline.failure();
        final Failure failure = snapshot == null ? null : snapshot.failure();
        final List<AllocatorState> states =
                timeline.moments().stream().map(Timeline.Moment::state).toList();
        return first(
                states,
                states.stream()
                        .filter(state -> failure != null
                                && state.memory()
                                        .toString()
                                        .equals(failure.memory().toString()))
                        .max(MOST)
                        .orElse(null));
    }

    private static int first(List<AllocatorState> allocators, @Nullable AllocatorState failed) {
        int first = 0;
        for (int i = 0; i < allocators.size(); i++) {
            if (allocators.get(i).equals(failed)) {
                return i;
            }
            first = MOST.compare(allocators.get(i), allocators.get(first)) > 0 ? i : first;
        }
        return first;
    }

    private static long liveBytes(AllocatorState allocator) {
        return Math.max(
                allocator.stats().bytesInUse(),
                Breakdown.of(allocator.memoryMap()).bytes(State.LIVE));
    }
}
