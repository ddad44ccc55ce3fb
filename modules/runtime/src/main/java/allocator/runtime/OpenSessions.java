package allocator.runtime;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The sessions of an environment that are not over, linked with one another: adding and removing take constant time and
 * no Java heap. Safe for use by several threads.
 */
final class OpenSessions {
    private @Nullable Session first;
    private int count;

    /** Adds a session that is not in a list. */
    synchronized void add(Session session) {
        final Session next = first;
        session.next = next;
        if (next != null) {
            next.previous = session;
        }
        first = session;
        session.isListed = true;
        count++;
    }

    /** Removes a session, if it is here. */
    synchronized void remove(Session session) {
        if (!session.isListed) {
            return;
        }
        final Session previous = session.previous;
        final Session next = session.next;
        if (previous == null) {
            first = next;
        } else {
            previous.next = next;
        }
        if (next != null) {
            next.previous = previous;
        }
        session.previous = null;
        session.next = null;
        session.isListed = false;
        count--;
    }

    /** Returns the sessions at this moment, the youngest first. */
    synchronized List<Session> all() {
        final List<Session> all = new ArrayList<>(count);
        for (Session session = first; session != null; session = session.next) {
            all.add(session);
        }
        return all;
    }
}
