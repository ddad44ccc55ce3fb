package allocator.provider.support.internal;

import java.util.List;
import java.util.stream.Collectors;

/** Says what to do where the JVM denies a module native access. */
public final class NativeAccess {
    private static final String ALL_UNNAMED = "ALL-UNNAMED";

    private NativeAccess() {}

    /**
     * {@return what to throw for a failure that a lack of native access may have caused: an
     * {@link IllegalStateException} that names the flag, or the failure itself if the module has native access}
     *
     * @param what what needs it, for the message
     * @param user a class of the module that needs it
     * @param failure what was thrown; the cause
     */
    public static RuntimeException explain(String what, Class<?> user, Throwable failure) {
        final Module module = user.getModule();
        if (module.isNativeAccessEnabled()) {
            return NativeAccess.<RuntimeException>unchecked(failure);
        }
        return new IllegalStateException(
                what + " needs native access: start java with " + flag(List.of(nameOf(module))), failure);
    }

    /**
     * {@return the flag of the JVM that gives modules native access} It does not reach the modules of a directory of
     * providers: the runtime gives them the access that it has itself, so it is named in their place.
     *
     * @param modules the names of the modules, {@code ALL-UNNAMED} for the class path
     */
    public static String flag(List<String> modules) {
        return modules.stream()
                .map(name -> ALL_UNNAMED.equals(name)
                                || ModuleLayer.boot().findModule(name).isPresent()
                        ? name
                        : "java.allocator.runtime")
                .distinct()
                .collect(Collectors.joining(",", "--enable-native-access=", ""));
    }

    /** {@return how the flag names a module, {@code ALL-UNNAMED} if it has no name} */
    public static String nameOf(Module module) {
        return module.isNamed() ? module.getName() : ALL_UNNAMED;
    }

    @SuppressWarnings("unchecked")
    private static <T extends Throwable> RuntimeException unchecked(Throwable failure) throws T {
        throw (T) failure;
    }
}
