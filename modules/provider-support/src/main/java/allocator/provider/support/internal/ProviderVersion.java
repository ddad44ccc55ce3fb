package allocator.provider.support.internal;

import java.util.Optional;

/** The version of a provider, which its build writes into the module descriptor and the manifest of its jar. */
public final class ProviderVersion {
    private static final String NONE = "unversioned";

    private ProviderVersion() {}

    /**
     * {@return the version of the module or, on the class path, of the jar that a class is in; {@code unversioned} if
     * the build wrote none}
     *
     * @param type a class of the provider
     */
    public static String of(Class<?> type) {
        final Module module = type.getModule();
        final Optional<String> version = module.isNamed()
                ? module.getDescriptor().rawVersion()
                : Optional.ofNullable(type.getPackage().getImplementationVersion());
        return version.orElse(NONE);
    }
}
