package allocator.provider.support;

/** Says what to do where the JVM denies a module native access. */
public final class NativeAccess {
    private NativeAccess() {}

    /**
     * Returns what to throw for a failure that a lack of native access may have caused.
     *
     * @param what what needs it, for the message
     * @param user a class of the module that needs it
     * @param failure what was thrown; the cause
     * @return an {@link IllegalStateException} that names the flag; the failure itself if the module has native access
     */
    public static RuntimeException explain(String what, Class<?> user, Throwable failure) {
        final Module module = user.getModule();
        if (module.isNativeAccessEnabled()) {
            return NativeAccess.<RuntimeException>unchecked(failure);
        }
        return new IllegalStateException(
                what + " needs native access: start java with --enable-native-access="
                        + (module.isNamed() ? module.getName() : "ALL-UNNAMED"),
                failure);
    }

    @SuppressWarnings("unchecked")
    private static <T extends Throwable> RuntimeException unchecked(Throwable failure) throws T {
        throw (T) failure;
    }
}
