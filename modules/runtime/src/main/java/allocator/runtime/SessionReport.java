package allocator.runtime;

import allocator.runtime.AllocatorReport.Setting;
import allocator.runtime.discovery.Log;
import allocator.runtime.options.OptionPlace;
import allocator.spi.OptionKey;
import java.util.List;

/**
 * The allocators of a session with the effective settings of each.
 *
 * <p>{@link #toString} is a text of several lines for a person to read: for each allocator a table of key, effective
 * value and origin; where initializers come from; and notes.
 *
 * @param session the session's name
 * @param allocators one entry for each allocator, read-only memory included
 * @param initializers where the initializers of each device come from, and what limits them; for a person to read
 * @param notes settings of the session that apply to none of its allocators, and why; for a person to read
 */
public record SessionReport(
        String session, List<AllocatorReport> allocators, List<String> initializers, List<String> notes) {
    /** Copies the lists. */
    public SessionReport {
        allocators = List.copyOf(allocators);
        initializers = List.copyOf(initializers);
        notes = List.copyOf(notes);
    }

    /** Logs the report, and warns of settings of the session that are not effective. */
    void log() {
        notes.forEach(note -> Log.warning(session + ": " + note));
        warnings().forEach(warning -> Log.warning(session + ": " + warning));
        allocators.forEach(allocator -> Log.debug(session + ": " + allocator));
    }

    /** Returns a line for each setting of the session that is not effective on a memory that it is meant for. */
    List<String> warnings() {
        return allocators.stream()
                .flatMap(allocator -> allocator.settings().stream()
                        .filter(setting -> OptionPlace.SESSION.isOrigin(setting.origin())
                                && isContrary(setting, allocator, allocators))
                        .map(setting -> setting.key() + "=" + setting.requested() + " is not effective on "
                                + allocator.memory() + ": " + setting.why()))
                .toList();
    }

    /**
     * Returns whether a setting is not effective on a memory that it is meant for. Settings are for arenas; read-only
     * memory has none. A provider that reports no settings has nothing shared from which EXCLUSIVE could keep the
     * session apart. A key that serves one memory of a provider need not serve its others, as a policy of device memory
     * does not serve pinned memory.
     *
     * @param all the allocators that the setting was given for
     */
    static boolean isContrary(Setting setting, AllocatorReport allocator, List<AllocatorReport> all) {
        return !setting.isServed()
                && (setting.effective() != null
                        || !(allocator.memory().isReadOnly()
                                || setting.key().equals(OptionKey.EXCLUSIVE.name())
                                || servesOther(allocator, setting.key(), all)));
    }

    private static boolean servesOther(AllocatorReport allocator, String key, List<AllocatorReport> all) {
        return all.stream()
                .filter(other -> other.provider().equals(allocator.provider()))
                .flatMap(other -> other.settings().stream())
                .anyMatch(setting -> setting.key().equals(key) && setting.effective() != null);
    }

    @Override
    public String toString() {
        final StringBuilder text = new StringBuilder("session ").append(session);
        allocators.forEach(allocator -> allocator.toString().lines().forEach(line -> append(text, line)));
        initializers.forEach(line -> append(text, line));
        notes.forEach(note -> append(text, "note: " + note));
        return text.toString();
    }

    private static void append(StringBuilder text, String line) {
        text.append(System.lineSeparator()).append("  ").append(line);
    }
}
