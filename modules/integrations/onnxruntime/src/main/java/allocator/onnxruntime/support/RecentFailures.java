package allocator.onnxruntime.support;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Iterator;
import java.util.Optional;
import java.util.function.Predicate;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;

/** The failures beneath native code that no Java call has taken yet; of more than 64, the oldest are dropped. */
public final class RecentFailures<F> {
    private static final int MAX_FAILURES = 64;

    private final ToLongFunction<F> threadId;

    /** Oldest first. Guards itself. */
    private final Deque<F> failures = new ArrayDeque<>(MAX_FAILURES + 1);

    private volatile @Nullable F last;

    /**
     * Makes an empty collection.
     *
     * @param threadId the thread of a failure
     */
    public RecentFailures(ToLongFunction<F> threadId) {
        this.threadId = threadId;
    }

    /** Adds a failure. */
    public void add(F failure) {
        synchronized (failures) {
            if (failures.size() == MAX_FAILURES) {
                failures.removeFirst();
            }
            failures.addLast(failure);
            last = failure;
        }
    }

    /** Returns and removes the oldest failure of this thread, or else the oldest of all. */
    public Optional<F> take() {
        final long thread = Thread.currentThread().threadId();
        synchronized (failures) {
            final Optional<F> own = take(failure -> threadId.applyAsLong(failure) == thread);
            return own.isPresent() ? own : Optional.ofNullable(failures.pollFirst());
        }
    }

    /**
     * Returns and removes the newest failure of which something is true, of this thread if there is one: what is behind
     * an exception that has just been thrown. An older one may be of a call whose exception was never explained.
     */
    public Optional<F> takeLatest(Predicate<F> isWanted) {
        final long thread = Thread.currentThread().threadId();
        synchronized (failures) {
            F latest = null;
            for (final Iterator<F> all = failures.descendingIterator(); all.hasNext(); ) {
                final F failure = all.next();
                if (isWanted.test(failure)) {
                    if (threadId.applyAsLong(failure) == thread) {
                        all.remove();
                        return Optional.of(failure);
                    }
                    latest = latest == null ? failure : latest;
                }
            }
            if (latest != null) {
                final boolean ignored = failures.remove(latest);
            }
            return Optional.ofNullable(latest);
        }
    }

    /** Returns and removes the oldest failure of which something is true. */
    public Optional<F> take(Predicate<F> isWanted) {
        synchronized (failures) {
            for (final Iterator<F> all = failures.iterator(); all.hasNext(); ) {
                final F failure = all.next();
                if (isWanted.test(failure)) {
                    all.remove();
                    return Optional.of(failure);
                }
            }
            return Optional.empty();
        }
    }

    /** Returns the newest failure, taken or not. */
    public Optional<F> last() {
        return Optional.ofNullable(last);
    }
}
