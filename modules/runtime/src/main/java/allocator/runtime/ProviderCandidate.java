package allocator.runtime;

import allocator.spi.EpFactory;
import java.util.Locale;

/**
 * A factory that names itself but has not been asked anything else yet.
 *
 * @param factory the factory
 * @param name its name
 * @param module its module, empty if it has none
 * @param origin where it was found
 */
record ProviderCandidate(EpFactory factory, String name, String module, String origin) {
    /** The origin of factories that an application registers itself. */
    static final String APPLICATION = "application";

    /**
     * Asks a factory for its name.
     *
     * @throws ProviderException if it has none that can stand in option keys
     */
    static ProviderCandidate of(EpFactory factory, String origin) {
        final String className = factory.getClass().getName();
        final String name = ProviderCalls.call(className, "name", factory::name);
        if (name.isEmpty() || name.chars().anyMatch(Character::isWhitespace)) {
            throw new ProviderException(
                    className, "is named '" + name + "': a name has no blanks and is not empty", null);
        }
        final String module = factory.getClass().getModule().getName();
        return new ProviderCandidate(factory, name, module == null ? "" : module, origin);
    }

    /** What tells providers apart: session keys use the name in lower case, so names must differ in more than case. */
    String identity() {
        return name.toLowerCase(Locale.ROOT);
    }

    /** Names the provider and where it is from, for messages about two of one name. */
    String describe() {
        return factory.getClass().getName() + " of " + (module.isEmpty() ? "no module" : module) + " (" + origin + ")";
    }
}
