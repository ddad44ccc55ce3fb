package allocator.arrow;

import java.lang.System.Logger.Level;
import java.lang.module.ModuleDescriptor;
import java.security.CodeSource;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.arrow.memory.AllocationManager;
import org.jspecify.annotations.Nullable;

/** The version of Arrow on the path, from its module descriptor or the manifest of its jar. */
final class ArrowVersion {
    private static final System.Logger LOG = System.getLogger(ArrowVersion.class.getName());

    /** The first and the last version that the tests run with. */
    private static final int OLDEST = 18;

    private static final int NEWEST = 19;
    private static final Pattern MAJOR = Pattern.compile("(\\d{1,9})\\..*");

    private ArrowVersion() {}

    /**
     * Checks the version, where it is known. A newer one than the tests have is logged.
     *
     * @throws IllegalStateException if it is older than the oldest that is supported
     */
    static void requireSupported() {
        final String version = version(AllocationManager.class);
        final CodeSource source = AllocationManager.class.getProtectionDomain().getCodeSource();
        requireSupported(version, source == null ? "" : " at " + source.getLocation());
    }

    static void requireSupported(@Nullable String version, String place) {
        final Matcher matcher = MAJOR.matcher(version == null ? "" : version);
        if (!matcher.matches()) {
            return; // repackaged without its version
        }
        final int major = Integer.parseInt(matcher.group(1));
        if (major < OLDEST) {
            throw new IllegalStateException("arrow-memory-core is " + version + place + "; java.allocator.arrow needs "
                    + OLDEST + " to " + NEWEST);
        }
        if (major > NEWEST) {
            LOG.log(
                    Level.WARNING,
                    "arrow-memory-core is {0}; java.allocator.arrow is tested with {1} to {2}",
                    version,
                    OLDEST,
                    NEWEST);
        }
    }

    private static @Nullable String version(Class<?> type) {
        final ModuleDescriptor descriptor = type.getModule().getDescriptor();
        return descriptor == null
                ? type.getPackage().getImplementationVersion()
                : descriptor.rawVersion().orElse(null);
    }
}
