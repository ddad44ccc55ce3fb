package allocator.testkit;

import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.function.Supplier;

/** Hooks for the doubles that make calls fail. */
public final class Faults {
    /** Fails no call. */
    public static final Consumer<String> NONE = operation -> {};

    private Faults() {}

    /**
     * Returns a hook that fails every call of an operation.
     *
     * @param operation how the name of the operation begins
     * @param thrown what the call throws, checked or not
     * @return the hook
     */
    public static Consumer<String> on(String operation, Throwable thrown) {
        return called -> {
            if (called.startsWith(operation)) {
                Faults.<RuntimeException>sneak(thrown);
            }
        };
    }

    /**
     * Returns a hook that fails one call, whatever its operation.
     *
     * @param number which call fails, from 1
     * @param calls counts the calls; hooks that share it count together
     * @param thrown what the call throws, checked or not
     * @return the hook
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
