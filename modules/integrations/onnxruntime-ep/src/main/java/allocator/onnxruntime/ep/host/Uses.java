package allocator.onnxruntime.ep.host;

import java.util.EnumMap;
import java.util.Map;
import java.util.StringJoiner;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * What ONNX Runtime has of the providers of one library and must return before the library can go: ONNX Runtime does
 * not check that, and reads freed memory afterwards.
 */
public final class Uses {
    /** Something that ONNX Runtime gets and returns. */
    enum Kind {
        SESSION("open session", "close it first"),
        SESSION_ALLOCATOR("allocator of a session", "close the session's results"),
        STREAM("open stream", "release it first");

        private final String text;
        private final String advice;

        Kind(String text, String advice) {
            this.text = text;
            this.advice = advice;
        }
    }

    private final Map<Kind, Integer> counts = new EnumMap<>(Kind.class);
    private final AtomicLong liveBlocks = new AtomicLong();
    private boolean isFrozen;

    /** Makes an empty count. */
    public Uses() {}

    /**
     * Counts one that ONNX Runtime is about to get.
     *
     * @throws IllegalStateException if the library is being unregistered
     */
    synchronized void begin(Kind kind) {
        if (isFrozen) {
            throw new IllegalStateException("the library of this provider is being unregistered");
        }
        counts.merge(kind, 1, Integer::sum);
    }

    /** Counts one that ONNX Runtime has returned, or did not get. */
    synchronized void end(Kind kind) {
        counts.merge(kind, -1, Integer::sum);
    }

    /** Returns the number of one kind. */
    synchronized int count(Kind kind) {
        return counts.getOrDefault(kind, 0);
    }

    /** Returns how many sessions use the library. */
    public int sessions() {
        return count(Kind.SESSION);
    }

    /** The blocks of all allocators that are live. */
    AtomicLong liveBlocks() {
        return liveBlocks;
    }

    /** Returns how many blocks of all allocators are live. */
    public long live() {
        return liveBlocks.get();
    }

    /** Returns why the library cannot go now, or {@code null} if it can. */
    public synchronized @Nullable String obstacle() {
        final StringJoiner obstacles = new StringJoiner(", ");
        for (final Kind kind : Kind.values()) {
            final int count = count(kind);
            if (count > 0) {
                obstacles.add(count + " " + kind.text + (count == 1 ? "" : "s") + " (" + kind.advice + ")");
            }
        }
        final long blocks = live();
        if (blocks > 0) {
            obstacles.add(blocks + " live block" + (blocks == 1 ? "" : "s") + " (close its tensors and results)");
        }
        return obstacles.length() == 0 ? null : obstacles.toString();
    }

    /**
     * From here on nothing more is given out, if nothing is.
     *
     * @return why the library cannot go now, or {@code null}
     */
    public synchronized @Nullable String freeze() {
        final String obstacle = obstacle();
        isFrozen = obstacle == null;
        return obstacle;
    }

    /** Undoes {@link #freeze}. */
    public synchronized void thaw() {
        isFrozen = false;
    }
}
