package allocator.arrow;

import java.util.function.Supplier;

/** Says which flag of the JVM a provider lacks, in one line, where the JVM forbids it to call native code. */
final class NativeAccess {
    private NativeAccess() {}

    /**
     * Makes a call of a provider's that needs native access.
     *
     * @throws IllegalStateException if the JVM forbids it; the message has the flag
     */
    static <T> T required(Object provider, Supplier<T> call) {
        try {
            return call.get();
        } catch (IllegalCallerException | ExceptionInInitializerError | NoClassDefFoundError e) {
            final Module module = provider.getClass().getModule();
            if (module.isNativeAccessEnabled()) {
                throw e;
            }
            throw new IllegalStateException(
                    "memory of " + provider.getClass().getName()
                            + " needs native access: start java with --enable-native-access="
                            + (module.isNamed() ? module.getName() : "ALL-UNNAMED"),
                    e);
        }
    }
}
