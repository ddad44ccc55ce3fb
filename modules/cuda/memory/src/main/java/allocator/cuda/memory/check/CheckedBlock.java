package allocator.cuda.memory.check;

import allocator.cuda.memory.check.StreamChecks.Owner;
import allocator.cuda.memory.check.StreamOrder.Clock;
import allocator.spi.StreamHazardException;
import allocator.spi.StreamHazardException.Kind;
import allocator.spi.StreamHazardException.Site;
import allocator.spi.StreamHazardException.Use;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A block whose uses are checked: its allocation, the uses that may not be done, and its free. Of a freed block, also a
 * part: what is left of it when other parts are allocated again.
 *
 * <p>Guarded by the lock of {@link StreamChecks}.
 */
final class CheckedBlock {
    final Owner owner;
    final long address;
    final long byteSize;

    /** The stream of the allocation; {@code null} if any stream may use the block at once. */
    private final @Nullable Clock stream;

    private final Mark allocation;
    private final List<Mark> uses;

    /** Of the whole block, also where this is a part of it. */
    private @Nullable Use freed;

    /** A use of part of the block, or of all of it. */
    record Mark(@Nullable Clock clock, long position, boolean isWrite, Use use) {
        long end() {
            return use.address() + use.byteSize();
        }

        boolean isDone() {
            return clock == null || StreamOrder.isDone(clock, position);
        }

        boolean isBefore(@Nullable Clock later) {
            return clock == null || StreamOrder.isBefore(clock, position, later);
        }

        /** Whether a later use of the same stream takes this one's place: what follows that one follows this one. */
        boolean isReplacedBy(Mark later) {
            return later.clock == clock
                    && position < later.position
                    && (later.isWrite || !isWrite)
                    && later.use.address() <= use.address()
                    && end() <= later.end();
        }

        boolean overlaps(Use other) {
            return use.address() < other.address() + other.byteSize() && other.address() < end();
        }
    }

    CheckedBlock(Owner owner, @Nullable Clock stream, Use allocation) {
        this.owner = owner;
        this.stream = stream;
        address = allocation.address();
        byteSize = allocation.byteSize();
        this.allocation = new Mark(stream, stream == null ? 0 : StreamOrder.use(stream), true, allocation);
        uses = new ArrayList<>(2);
    }

    private CheckedBlock(CheckedBlock whole, long address, long end) {
        this.address = address;
        byteSize = end - address;
        owner = whole.owner;
        stream = whole.stream;
        allocation = whole.allocation;
        uses = whole.uses;
        freed = whole.freed;
    }

    /** Returns the part of this freed block from an address to another one. */
    CheckedBlock part(long from, long end) {
        return new CheckedBlock(this, from, end);
    }

    long end() {
        return address + byteSize;
    }

    boolean isFreed() {
        return freed != null;
    }

    void free(Site site) {
        freed = new Use(site, address, byteSize);
    }

    void cancelFree() {
        freed = null;
    }

    /** Throws if a use on a stream, or by the host if that is {@code null}, may come before what it has to follow. */
    void requireReady(Use use, boolean isWrite, @Nullable Clock later) {
        final Use free = freed;
        if (free != null) {
            throw hazard(
                    Kind.USE_AFTER_FREE, use, free, "Free the block after the last work that uses it was submitted.");
        }
        if (!allocation.isBefore(later)) {
            throw hazard(Kind.USE_BEFORE_READY, use, allocation.use, remedy(allocation, later));
        }
        for (Mark mark : uses) {
            if ((isWrite || mark.isWrite) && mark.overlaps(use) && !mark.isBefore(later)) {
                throw hazard(Kind.REUSE_IN_FLIGHT, use, mark.use, remedy(mark, later));
            }
        }
    }

    /** Throws if work may use the block that its stream, or without one the host, has not waited for. */
    void requireUnused(Site site) {
        for (Mark mark : uses) {
            if (!mark.isBefore(stream)) {
                throw hazard(Kind.FREE_IN_USE, new Use(site, address, byteSize), mark.use, remedy(mark, stream));
            }
        }
    }

    /** Throws if an allocation of the memory of this freed block may be used before the block's last use is done. */
    void requireReusable(Use next, @Nullable Clock later) {
        if (stream != null && later == null) {
            return; // the allocator has to wait by itself
        }
        for (Mark mark : uses) {
            if (mark.overlaps(next) && !mark.isBefore(later)) {
                throw hazard(
                        Kind.REUSE_IN_FLIGHT, next, mark.use, "The allocator has reused memory too early: report it.");
            }
        }
    }

    private static String remedy(Mark earlier, @Nullable Clock later) {
        return "Activate a notification of %s after that, and %s."
                .formatted(
                        earlier.clock,
                        later == null ? "wait for it on the host" : "make " + later + " wait for it on the device");
    }

    private StreamHazardException hazard(Kind kind, Use later, Use earlier, String remedy) {
        return new StreamHazardException(kind, owner.device(), later, earlier, remedy);
    }

    /** Adds a use by work that is about to be submitted. */
    void add(Mark mark) {
        uses.removeIf(Mark::isDone);
        uses.add(mark);
    }

    /** The work of a use is submitted: what follows it follows the uses that it replaces. Allocates nothing. */
    void submitted(Mark mark) {
        for (int i = uses.size() - 1; i >= 0; i--) {
            if (uses.get(i).isReplacedBy(mark)) {
                uses.remove(i);
            }
        }
    }

    /** The work of a use was not submitted. */
    void remove(Mark mark) {
        uses.remove(mark);
    }
}
