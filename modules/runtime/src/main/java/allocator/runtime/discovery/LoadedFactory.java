package allocator.runtime.discovery;

import allocator.spi.EpFactory;

/**
 * A factory that was constructed. None of its methods has been called.
 *
 * @param module the name of the module that provides it, empty if none does
 * @param origin where it was found: the location of its jar, or {@link #APPLICATION}
 */
public record LoadedFactory(EpFactory factory, String module, String origin) {
    /** The origin of factories that an application registers itself. */
    public static final String APPLICATION = "application";

    /** Wraps a factory that the application constructed. Returns the factory with the origin {@link #APPLICATION}. */
    public static LoadedFactory ofApplication(EpFactory factory) {
        final String module = factory.getClass().getModule().getName();
        return new LoadedFactory(factory, module == null ? "" : module, APPLICATION);
    }

    /** {@return the name of the factory's class, which names a provider that cannot name itself} */
    public String className() {
        return factory.getClass().getName();
    }

    /** {@return the class, module and origin in one line, to distinguish providers of one name in a message} */
    public String describe() {
        return className() + " of " + (module.isEmpty() ? "no module" : module) + " (" + origin + ")";
    }
}
