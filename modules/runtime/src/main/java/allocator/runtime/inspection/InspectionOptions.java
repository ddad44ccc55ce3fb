package allocator.runtime.inspection;

import allocator.runtime.options.RuntimeKeys;
import allocator.spi.InvalidOptionException;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * The options that ask for snapshots of failures, beans, recent events and reports of leaks. Each is parsed once, when
 * it is set. Not safe for use by several threads.
 */
public final class InspectionOptions {
    final String origin;
    final Frames frames;

    @Nullable
    Path failures;

    boolean hasBeans = RuntimeKeys.JMX.defaultValue();
    int history = RuntimeKeys.HISTORY.defaultValue();
    private int leaks = RuntimeKeys.LEAKS.defaultValue();
    private @Nullable Path leaksReport;

    /**
     * Creates options that ask for nothing.
     *
     * @param origin where they are set, for messages
     * @param frames finds the frames of the program that made a request
     */
    public InspectionOptions(String origin, Frames frames) {
        this.origin = origin;
        this.frames = frames;
    }

    /**
     * Sets an option, if it is one of these.
     *
     * @param key any key
     * @return whether it is one of these
     * @throws InvalidOptionException if it is, and the value is not accepted
     */
    public boolean set(String key, String value) {
        if (key.equals(RuntimeKeys.SNAPSHOT_ON_FAILURE)) {
            failures = directory(key, value);
        } else if (key.equals(RuntimeKeys.JMX.name())) {
            hasBeans = RuntimeKeys.JMX.parse(value, origin);
        } else if (key.equals(RuntimeKeys.HISTORY.name())) {
            history = RuntimeKeys.HISTORY.parse(value, origin);
        } else if (key.equals(RuntimeKeys.LEAKS.name())) {
            leaks = RuntimeKeys.LEAKS.parse(value, origin);
        } else if (key.equals(RuntimeKeys.LEAKS_REPORT)) {
            leaksReport = directory(key, value);
        } else {
            return false;
        }
        return true;
    }

    /** Returns the path of a directory, which need not exist. */
    private Path directory(String key, String value) {
        try {
            if (!value.isBlank()) {
                return Path.of(value);
            }
        } catch (InvalidPathException e) {
            throw notADirectory(key, value);
        }
        throw notADirectory(key, value);
    }

    private InvalidOptionException notADirectory(String key, String value) {
        return new InvalidOptionException(key, value, "the path of a directory", origin);
    }

    /**
     * Makes the reports of leaks that these options ask for.
     *
     * @return the reports; they report nothing unless an option says so
     * @throws InvalidOptionException if there is a directory and nothing to write there
     */
    public LeakReports leakReports() {
        if (leaksReport != null && leaks == 0) {
            throw new InvalidOptionException(
                    RuntimeKeys.LEAKS_REPORT,
                    leaksReport.toString(),
                    "accepted without " + RuntimeKeys.LEAKS.name() + "=sampled or " + RuntimeKeys.LEAKS.name()
                            + "=full",
                    origin);
        }
        return new LeakReports(leaks, leaksReport);
    }
}
