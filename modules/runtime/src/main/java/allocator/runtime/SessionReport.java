package allocator.runtime;

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
        for (final AllocatorReport allocator : allocators) {
            Log.debug(session + ": " + allocator);
            // Settings are for arenas; read-only memory has none, which is no reason for a warning. A provider that
            // reports no settings has nothing shared from which EXCLUSIVE could keep the session apart.
            allocator.settings().stream()
                    .filter(setting ->
                            !setting.isEffective() && setting.origin().equals(OptionPlace.SESSION.origin()))
                    .filter(setting -> setting.effective() != null
                            || !(allocator.memory().isReadOnly()
                                    || setting.key().equals(OptionKey.EXCLUSIVE.name())))
                    .forEach(setting -> Log.warning(session + ": " + setting.key() + "=" + setting.requested()
                            + " is not effective on " + allocator.memory() + ": " + setting.why()));
        }
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
