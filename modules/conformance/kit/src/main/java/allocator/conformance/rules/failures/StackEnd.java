package allocator.conformance.rules.failures;

import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** A thread with a small stack, and calls that begin near its end. */
final class StackEnd {
    private static final int STACK_BYTES = 256 << 10;

    /** An exception is caught not far from where it is thrown: a frame takes a microsecond to leave by one. */
    private static final int CALLS_BELOW_CATCH = 16;

    private static final int TOO_DEEP = 1 << 20;

    /** How many calls of the last descent were left to make. */
    private int left;

    /** Runs an action on a thread with a small stack, and throws what it throws. */
    static void run(Runnable action) {
        final Throwable[] thrown = new @Nullable Throwable[1];
        final Thread thread = new Thread(
                null,
                () -> {
                    try {
                        action.run();
                    } catch (Throwable e) {
                        thrown[0] = e;
                    }
                },
                "conformance-stack-end",
                STACK_BYTES);
        thread.setDaemon(true);
        thread.start();
        try {
            thread.join();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted while the provider runs at the end of a stack", e);
        }
        StackEnd.<RuntimeException>rethrow(thrown[0]);
    }

    @SuppressWarnings("unchecked")
    private static <T extends Throwable> void rethrow(@Nullable Throwable thrown) throws T {
        if (thrown != null) {
            throw (T) thrown;
        }
    }

    /** Returns how deep this thread can recurse with {@link #at}; changes as the code is compiled. */
    int depth() {
        try {
            descend(TOO_DEEP, () -> {});
        } catch (StackOverflowError e) {
            // The stack has ended.
        }
        return TOO_DEEP - left;
    }

    /** Returns what runs an action so many calls below its caller, and throws what it throws. */
    Consumer<Runnable> at(int depth) {
        return action -> {
            final Throwable[] thrown = new @Nullable Throwable[1];
            final int below = Math.min(depth, CALLS_BELOW_CATCH);
            descend(depth - below, () -> {
                try {
                    descend(below, action);
                } catch (Throwable e) {
                    thrown[0] = e;
                }
            });
            StackEnd.<RuntimeException>rethrow(thrown[0]);
        };
    }

    private void descend(int depth, Runnable action) {
        left = depth;
        if (depth == 0) {
            action.run();
        } else {
            descend(depth - 1, action);
        }
    }
}
