package allocator.cuda.memory.check;

import allocator.cuda.memory.check.StreamOrder.Clock;
import allocator.spi.StreamHazardException;
import allocator.spi.StreamHazardException.Kind;
import allocator.spi.StreamHazardException.Site;
import allocator.spi.StreamHazardException.Use;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A block whose uses are checked: its allocation, the uses that may not be done, and the call site of its free.
 *
 * <p>Guarded by the lock of {@link StreamChecks}.
 */
final class CheckedBlock {
    final Object owner;
    final long address;
    final long byteSize;
    private final String device;

    /** The stream of the allocation; {@code null} if any stream may use the block at once. */
    private final @Nullable Clock stream;

    private final Mark allocation;
    private final List<Mark> uses = new ArrayList<>(2);

    @Nullable
    Site freed;

    /** A use of part of the block, or of all of it. */
    private record Mark(@Nullable Clock clock, long position, boolean isWrite, Use use) {
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
                    && (later.isWrite || !isWrite)
                    && later.use.address() <= use.address()
                    && end() <= later.end();
        }

        boolean overlaps(Use other) {
            return use.address() < other.address() + other.byteSize() && other.address() < end();
        }
    }

    CheckedBlock(Object owner, String device, @Nullable Clock stream, Use allocation) {
        this.owner = owner;
        this.device = device;
        this.stream = stream;
        address = allocation.address();
        byteSize = allocation.byteSize();
        this.allocation = new Mark(stream, stream == null ? 0 : StreamOrder.use(stream), true, allocation);
    }

    long end() {
        return address + byteSize;
    }

    /** Throws if a use on a stream, or by the host if that is {@code null}, may come before what it has to follow. */
    void requireReady(Use use, boolean isWrite, @Nullable Clock later) {
        final Site freedAt = freed;
        if (freedAt != null) {
            throw hazard(
                    Kind.USE_AFTER_FREE,
                    use,
                    new Use(freedAt, address, byteSize),
                    "Free the block after the last work that uses it was submitted.");
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
        return new StreamHazardException(kind, device, later, earlier, remedy);
    }

    void add(Use use, boolean isWrite, Clock clock) {
        final Mark mark = new Mark(clock, StreamOrder.use(clock), isWrite, use);
        uses.removeIf(earlier -> earlier.isDone() || earlier.isReplacedBy(mark));
        uses.add(mark);
    }
}
