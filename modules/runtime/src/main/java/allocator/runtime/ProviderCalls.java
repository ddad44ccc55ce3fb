package allocator.runtime;

import allocator.spi.AllocatorException;
import java.util.function.Supplier;

/** Calls into a provider. What the contract allows comes through; everything else is named as the provider's fault. */
final class ProviderCalls {
    private ProviderCalls() {}

    /** Calls, and requires an answer. */
    static <T> T call(String provider, String operation, Supplier<T> call) {
        final T answer;
        try {
            answer = call.get();
        } catch (Throwable e) {
            throw translate(provider, operation, e);
        }
        if (answer == null) {
            throw new ProviderException(provider, "returned null from " + operation, null);
        }
        return answer;
    }

    /** Calls. */
    static void run(String provider, String operation, Runnable call) {
        try {
            call.run();
        } catch (Throwable e) {
            throw translate(provider, operation, e);
        }
    }

    /** The exception to throw for what a provider threw. Throws itself what nobody may hide: the JVM's own distress. */
    static RuntimeException translate(String provider, String operation, Throwable thrown) {
        if (thrown instanceof VirtualMachineError error) {
            throw error;
        }
        if (thrown instanceof AllocatorException known) {
            return known;
        }
        // What failed to initialize a class is told by the cause only.
        final String what = thrown instanceof LinkageError ? ProviderSearch.describe(thrown) : thrown.toString();
        return new ProviderException(provider, "threw from " + operation + ": " + what, thrown);
    }
}
