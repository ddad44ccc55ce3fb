package allocator.runtime.discovery;

/**
 * A provider, jar or directory that is not used.
 *
 * @param name the name of the factory's class, or of the jar or directory where no class is known
 * @param module its module, empty if not known
 * @param origin where it was found
 * @param reason why it is not used
 * @param isKeptOut whether the lists of what may load keep it out, rather than a fault
 */
public record SkippedProvider(String name, String module, String origin, String reason, boolean isKeptOut) {}
