package allocator.arena;

import org.jspecify.annotations.Nullable;

/** Collects failures, so that all work is attempted; throws the first one at the end, with the others suppressed. */
final class Failures {
    private @Nullable RuntimeException first;

    @SuppressWarnings("ReferenceEquality") // an exception may be thrown twice, but not be suppressed by itself
    void add(@Nullable RuntimeException failure) {
        if (first == null) {
            first = failure;
        } else if (failure != null && failure != first) {
            first.addSuppressed(failure);
        }
    }

    void run(Runnable action) {
        try {
            action.run();
        } catch (RuntimeException e) {
            add(e);
        }
    }

    void throwIfAny() {
        if (first != null) {
            throw first;
        }
    }
}
