package allocator.runtime;

import java.util.List;

/**
 * The allocators of a session with the settings in force on each.
 *
 * @param session the session's name
 * @param allocators one entry for each allocator, read-only memory included
 * @param notes for a person: settings of the session that apply to none of its allocators, and why
 */
public record SessionReport(String session, List<AllocatorReport> allocators, List<String> notes) {
    /** Copies the lists. */
    public SessionReport {
        allocators = List.copyOf(allocators);
        notes = List.copyOf(notes);
    }
}
