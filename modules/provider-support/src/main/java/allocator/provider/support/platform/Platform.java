package allocator.provider.support.platform;

/**
 * The operating system and the processor of a process.
 *
 * @param osName as the system property {@code os.name}
 * @param osArch as the system property {@code os.arch}
 */
public record Platform(String osName, String osArch) {
    /** Returns the platform of this process. */
    public static Platform current() {
        return new Platform(System.getProperty("os.name"), System.getProperty("os.arch"));
    }

    /** Returns the operating system. */
    public OperatingSystem system() {
        return OperatingSystem.of(osName);
    }

    /** Returns the processor. */
    public Processor processor() {
        return Processor.of(osArch);
    }

    /** Returns whether this is that operating system on that processor. */
    public boolean is(OperatingSystem system, Processor processor) {
        return system() == system && processor() == processor;
    }

    /**
     * Returns the message for a part that this platform does not have.
     *
     * @param part the part, as a user knows it, such as {@code arena.policy=compact}
     * @param needs what it needs
     * @param instead what works here, as a sentence without a full stop
     */
    public String lacks(String part, String needs, String instead) {
        return part + " needs " + needs + "; this is " + this + ". " + instead;
    }

    /** Returns for instance {@code Mac OS X on aarch64}. */
    @Override
    public String toString() {
        return osName + " on " + osArch;
    }
}
