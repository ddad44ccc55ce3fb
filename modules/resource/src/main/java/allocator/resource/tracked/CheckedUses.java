package allocator.resource.tracked;

import allocator.spi.StreamHazardException.Site;
import allocator.spi.SyncStream;
import java.util.HashMap;
import java.util.Map;
import java.util.WeakHashMap;
import org.jspecify.annotations.Nullable;

/**
 * The call sites of a checked {@link TrackedMemory}: of the latest preparation of each block on each stream, and of its
 * free. Safe for use by several threads.
 */
final class CheckedUses {
    private final StreamEvents events;

    /** A block that no caller can use any more needs no call sites. */
    private final Map<TrackedBlock, Sites> sites = new WeakHashMap<>();

    /** The call sites of a block. */
    private static final class Sites {
        final Map<Long, Site> preparations = new HashMap<>();

        @Nullable
        Site free;
    }

    CheckedUses(StreamEvents events) {
        this.events = events;
    }

    /** Opens a use, as {@link TrackedBlock#open} does. */
    Waits open(TrackedBlock block, Access access, SyncStream stream) {
        try {
            return block.open(access, stream);
        } catch (TrackedBlockException e) {
            throw explained(e, block);
        }
    }

    /** Checks and records a use that is open, and whose waits are queued. Cancels it if this fails. */
    void prepared(TrackedBlock block, Access access, SyncStream stream) {
        try {
            events.check(block.address(), block.byteSize(), access, stream);
            record(block, access, stream);
        } catch (Throwable e) {
            block.cancel(access, stream);
            throw e;
        }
    }

    private synchronized void record(TrackedBlock block, Access access, SyncStream stream) {
        known(block)
                .preparations
                .put(stream.id(), new Site(access == Access.WRITE ? "write" : "read", stream.toString()));
    }

    /** Frees a block, as {@link TrackedBlock#free} does. */
    void free(TrackedBlock block) {
        final Site site = new Site("free", "the host");
        final Sites known = known(block);
        try {
            block.free();
        } catch (TrackedBlockException e) {
            throw explained(e, block);
        }
        synchronized (this) {
            known.preparations.clear();
            known.free = site;
        }
    }

    private synchronized Sites known(TrackedBlock block) {
        return sites.computeIfAbsent(block, key -> new Sites());
    }

    /** Returns the exception for a rejected use or free, with the call site of the earlier one as its cause. */
    private synchronized TrackedBlockException explained(TrackedBlockException rejection, TrackedBlock block) {
        final Sites known = sites.get(block);
        final SyncStream other = rejection.other();
        Site earlier = null;
        if (known != null && rejection.kind() == TrackedBlockException.Kind.STALE) {
            earlier = known.free;
        } else if (known != null && other != null) {
            earlier = known.preparations.get(other.id());
        }
        if (earlier == null) {
            return rejection;
        }
        final TrackedBlockException explained = new TrackedBlockException(
                rejection.kind(),
                rejection.getMessage() + ", by the " + earlier.name() + " at " + earlier.line(),
                earlier,
                other);
        explained.setStackTrace(rejection.getStackTrace());
        return explained;
    }
}
