package allocator.runtime;

import allocator.runtime.discovery.Causes;
import allocator.spi.AllocatorException;
import java.util.function.Supplier;

/**
 * Calls into a provider. Exceptions of the contract are thrown on unchanged; any other becomes a
 * {@link ProviderException} that names the provider.
 */
final class ProviderCalls {
    private ProviderCalls() {}

    /** Calls, and rejects a result of {@code null}. */
    static <T> T call(String provider, String operation, Supplier<T> call) {
        final T result;
        try {
            result = call.get();
        } catch (Throwable e) {
            throw translate(provider, operation, e);
        }
        if (result == null) {
            throw new ProviderException(provider, "returned null from " + operation, null);
        }
        return result;
    }

    /**
     * Reads a property of a provider, which must not throw: any exception becomes a {@link ProviderException}, those of
     * the contract too. Rejects a result of {@code null}.
     */
    static <T> T read(String provider, String operation, Supplier<T> call) {
        try {
            return call(provider, operation, call);
        } catch (ProviderException e) {
            throw e;
        } catch (AllocatorException e) {
            throw thrown(provider, operation, e);
        }
    }

    /** Calls. */
    static void run(String provider, String operation, Runnable call) {
        try {
            call.run();
        } catch (Throwable e) {
            throw translate(provider, operation, e);
        }
    }

    /** Returns the exception to throw for what a provider threw. Throws errors of the JVM itself. */
    static RuntimeException translate(String provider, String operation, Throwable thrown) {
        if (thrown instanceof VirtualMachineError error) {
            throw error;
        }
        if (thrown instanceof AllocatorException known) {
            return known;
        }
        return thrown(provider, operation, thrown);
    }

    private static ProviderException thrown(String provider, String operation, Throwable thrown) {
        // Only the cause of a linkage error says which initializer failed.
        final String what = thrown instanceof LinkageError ? Causes.describe(thrown) : Causes.describeOne(thrown);
        return new ProviderException(provider, "threw from " + operation + ": " + what, thrown);
    }
}
