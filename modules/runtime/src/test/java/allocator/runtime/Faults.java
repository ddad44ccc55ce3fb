package allocator.runtime;

import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.function.Supplier;

/** What fakes run before each call, to make it fail. */
final class Faults {
    private Faults() {}

    /** Fails every call whose name begins so. */
    static Consumer<String> on(String operation, Throwable thrown) {
        return called -> {
            if (called.startsWith(operation)) {
                Faults.<RuntimeException>sneak(thrown);
            }
        };
    }

    /** Fails the n-th call, from 1, and no other. */
    static Consumer<String> atCall(int n, AtomicInteger calls, Supplier<Throwable> thrown) {
        return called -> {
            if (calls.incrementAndGet() == n) {
                Faults.<RuntimeException>sneak(thrown.get());
            }
        };
    }

    @SuppressWarnings("unchecked")
    private static <T extends Throwable> void sneak(Throwable thrown) throws T {
        throw (T) thrown;
    }
}
