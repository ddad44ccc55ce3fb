package allocator.testkit;

import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.function.Supplier;

/** Hooks for the doubles that make calls fail. */
public final class Faults {
    /** Fails no call. */
    public static final Consumer<String> NONE = operation -> {};

    private Faults() {}

    /** Returns a hook that fails every call of operations whose name begins so, with anything, checked or not. */
    public static Consumer<String> on(String operation, Throwable thrown) {
        return called -> {
            if (called.startsWith(operation)) {
                Faults.<RuntimeException>sneak(thrown);
            }
        };
    }

    /**
     * Returns a hook that fails one call, from 1, whatever its operation, with anything, checked or not; hooks that
     * share the counter count together.
     */
    public static Consumer<String> atCall(int number, AtomicInteger calls, Supplier<? extends Throwable> thrown) {
        return called -> {
            if (calls.incrementAndGet() == number) {
                Faults.<RuntimeException>sneak(thrown.get());
            }
        };
    }

    @SuppressWarnings({"unchecked", "DoNotCallSuggester"}) // the cast does nothing at run time
    static <T extends Throwable> void sneak(Throwable thrown) throws T {
        throw (T) thrown;
    }
}
