package allocator.runtime;

import java.util.LinkedHashSet;
import java.util.List;
import java.util.SequencedSet;

/** The sessions of an environment that are not over. Safe for use by several threads. */
final class OpenSessions {
    private final SequencedSet<Session> sessions = new LinkedHashSet<>();

    synchronized void add(Session session) {
        sessions.add(session);
    }

    /** Removes a session, if it is here. Needs no Java heap. */
    synchronized void remove(Session session) {
        sessions.remove(session);
    }

    /** Returns the sessions at this moment, the youngest first. */
    synchronized List<Session> all() {
        return List.copyOf(sessions.reversed());
    }
}
