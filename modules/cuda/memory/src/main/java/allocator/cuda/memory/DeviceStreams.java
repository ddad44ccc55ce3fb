package allocator.cuda.memory;

import org.jspecify.annotations.Nullable;

/**
 * The open streams of a device, of all its users, in a list that adding to and removing from allocates nothing.
 *
 * <p>No two of one user are one stream of the driver: each has a clock, and work that one clock has ordered is
 * unordered for another one. Two users may each have a view of a stream: they share no memory, so that two clocks only
 * cost reuse between streams.
 */
final class DeviceStreams {
    private @Nullable CudaSyncStream first;

    /** Adds a stream that the driver has just created. */
    synchronized void add(CudaSyncStream stream) {
        final CudaSyncStream second = first;
        if (second != null) {
            second.previous = stream;
        }
        stream.next = second;
        first = stream;
    }

    /**
     * Adds a view.
     *
     * @throws IllegalStateException if a stream of the same user in the list is the same one of the driver
     */
    synchronized void addView(CudaSyncStream view) {
        for (CudaSyncStream stream = first; stream != null; stream = stream.next) {
            if (stream.device().equals(view.device()) && stream.isSameAs(view)) {
                throw new IllegalStateException(view.describeNative() + " is " + stream
                        + " of this provider already; use that one, or close it first");
            }
        }
        add(view);
    }

    synchronized void remove(CudaSyncStream stream) {
        final CudaSyncStream before = stream.previous;
        final CudaSyncStream after = stream.next;
        if (before == null) {
            first = after;
        } else {
            before.next = after;
        }
        if (after != null) {
            after.previous = before;
        }
        stream.previous = null;
        stream.next = null;
    }

    /** Returns how many streams of one user are in the list. */
    synchronized int count(CudaDevice user) {
        int count = 0;
        for (CudaSyncStream stream = first; stream != null; stream = stream.next) {
            if (stream.device().equals(user)) {
                count++;
            }
        }
        return count;
    }

    /**
     * Throws if a stream in the list is being captured.
     *
     * @param call the name of the call, and what to do
     */
    synchronized void requireNoneCaptured(String call) {
        for (CudaSyncStream stream = first; stream != null; stream = stream.next) {
            if (stream.tryUse()) {
                try {
                    stream.requireNotKnownToBeCaptured(call);
                } finally {
                    stream.endUse();
                }
            }
        }
    }
}
