package allocator.arena;

import allocator.spi.AllocatorStats;
import allocator.spi.OutOfMemoryException;
import allocator.spi.SyncStream;
import allocator.testkit.FakeDevice;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * What an arena should do, in the plainest way: lists that are searched from end to end, bytes everywhere, one thread.
 * Each {@link Bug} makes it wrong in one rule, to see that a comparison with it would tell.
 */
@SuppressWarnings("ReferenceEquality") // a stream is one object
final class ModelArena {

    /** One rule broken. */
    enum Bug {
        /** Among chunks of equal size the last is taken. */
        TAKES_THE_HIGHEST_ADDRESS,
        /** A chunk of exactly twice the request is not split. */
        SPLITS_TOO_LATE,
        /** A chunk with exactly the dead bytes allowed is not split. */
        WASTES_ONE_UNIT_MORE,
        /** A freed chunk is merged with the next one only. */
        FORGETS_THE_PREVIOUS_NEIGHBOUR,
        /** Doubling starts at the request, not at the last size. */
        GROWS_TO_THE_REQUEST,
        /** The size after an oversized request is not kept for the next region. */
        DOUBLES_AT_ONCE,
        /** Growth goes on after a shrink. */
        SHRINK_KEEPS_GROWTH,
        /** A shrink returns the first region too. */
        SHRINK_RETURNS_THE_FIRST_REGION,
        /** Reserves are not counted against the limit. */
        LIMIT_IGNORES_RESERVES,
        /** The first attempt at the device is the only one. */
        NEVER_BACKS_OFF,
        /** The stamp is that of the allocation, not of the free. */
        STAMPS_WHEN_TAKING,
        /** An event that was recorded before the free is enough. */
        TRUSTS_AN_EARLIER_EVENT,
        /** Neighbours are merged for equal owners only. */
        KEEPS_UNTIED_NEIGHBOURS_APART,
        /** Clean ends are not used. */
        LOSES_CLEAN_ENDS,
        /** The larger stamp of two chunks does not win. */
        TAKES_THE_LOWER_STAMP,
        /** The end of a run unties what is in use as well. */
        RUN_END_REACHES_WHAT_IS_IN_USE,
        /** A release does not reach what is in use. */
        RELEASE_FORGETS_WHAT_IS_IN_USE,
        /** A failed allocation is not counted. */
        FORGETS_FAILURES
    }

    private static final long UNIT = 256;

    /** A piece of a region. Mutable, compared by identity. */
    private static final class Piece {
        final Span region;
        long start;
        long end;
        boolean isFree = true;
        long requested;

        @Nullable
        SyncStream owner;

        long stamp;
        long cleanHead;
        long cleanTail;

        Piece(Span region, long start, long end) {
            this.region = region;
            this.start = start;
            this.end = end;
        }

        long size() {
            return end - start;
        }

        /** A free piece's untied ends, of an owned piece only. */
        void setTie(@Nullable SyncStream newOwner, long newStamp, long head, long tail) {
            final boolean isClean = newOwner == null || head >= size() || tail >= size();
            owner = isClean ? null : newOwner;
            stamp = isClean ? 0 : newStamp;
            cleanHead = isClean ? 0 : head;
            cleanTail = isClean ? 0 : tail;
        }
    }

    /** A region. */
    private static final class Span {
        final long base;
        final long byteSize;
        final boolean isFirst;
        final List<Piece> pieces = new ArrayList<>();

        Span(long base, long byteSize, boolean isFirst) {
            this.base = base;
            this.byteSize = byteSize;
            this.isFirst = isFirst;
            pieces.add(new Piece(this, base, base + byteSize));
        }

        boolean isIdle() {
            return pieces.stream().allMatch(piece -> piece.isFree);
        }
    }

    private final FakeDevice device;
    private final ArenaConfig config;
    private final Set<Bug> bugs;
    private final List<Span> regions = new ArrayList<>();
    private final Map<Long, Long> reserves = new HashMap<>();
    private long nextRegion;
    private long peakInUse;
    private long peakHeld;
    private long maxAlloc;
    private long allocs;
    private long reservations;
    private long failed;
    private long shrinkages;

    ModelArena(FakeDevice device, ArenaConfig config, @Nullable Bug bug) {
        this.device = device;
        this.config = config;
        bugs = bug == null ? EnumSet.noneOf(Bug.class) : EnumSet.of(bug);
        nextRegion = roundUp(Math.min(limit(), config.initialChunkBytes()));
    }

    private boolean has(Bug bug) {
        return bugs.contains(bug);
    }

    private static long roundUp(long byteSize) {
        return (byteSize + UNIT - 1) / UNIT * UNIT;
    }

    private long limit() {
        return config.maxMem() == 0 ? Long.MAX_VALUE : config.maxMem();
    }

    long alloc(long byteSize, @Nullable SyncStream stream) {
        if (byteSize == 0) {
            return 0;
        }
        final long rounded = roundUp(byteSize);
        Optional<Piece> piece = search(rounded, stream);
        if (piece.isEmpty()) {
            extend(rounded);
            piece = search(rounded, stream);
        }
        final Piece taken = piece.orElseThrow();
        split(taken, rounded);
        taken.isFree = false;
        taken.requested = byteSize;
        taken.owner = stream;
        taken.stamp = stream == null ? 0 : stream.syncId();
        count(taken.size());
        return taken.start;
    }

    private void count(long byteSize) {
        allocs++;
        maxAlloc = Math.max(maxAlloc, byteSize);
        peakInUse = Math.max(peakInUse, inUse());
        peakHeld = Math.max(peakHeld, held());
    }

    /** The best of all that is large enough: whole pieces, and the clean ends of pieces that may not be used. */
    private Optional<Piece> search(long rounded, @Nullable SyncStream stream) {
        final List<Fit> fits = new ArrayList<>();
        for (final Piece piece : pieces()) {
            if (piece.isFree && mayUse(piece, stream)) {
                fits.add(new Fit(piece, piece.start, piece.size()));
            } else if (piece.isFree && !has(Bug.LOSES_CLEAN_ENDS)) {
                fits.add(new Fit(piece, piece.start, piece.cleanHead));
                fits.add(new Fit(piece, piece.end - piece.cleanTail, piece.cleanTail));
            }
        }
        final Comparator<Fit> bySize = Comparator.comparingLong(Fit::byteSize);
        final Comparator<Fit> byAddress = Comparator.comparingLong(Fit::start);
        return fits.stream()
                .filter(fit -> fit.byteSize >= rounded)
                .min(bySize.thenComparing(has(Bug.TAKES_THE_HIGHEST_ADDRESS) ? byAddress.reversed() : byAddress))
                .map(ModelArena::carve);
    }

    /**
     * Memory that would do.
     *
     * @param piece the piece in which it lies
     * @param start where it starts
     * @param byteSize its size
     */
    private record Fit(Piece piece, long start, long byteSize) {}

    private boolean mayUse(Piece piece, @Nullable SyncStream stream) {
        if (piece.owner == null || piece.owner == stream) {
            return true;
        }
        if (stream == null) {
            return false;
        }
        final long waited = stream.lastWaitedSyncId(piece.owner);
        final boolean trustsTheEventBefore = has(Bug.TRUSTS_AN_EARLIER_EVENT) && waited > 0;
        return piece.stamp < waited || (trustsTheEventBefore && piece.stamp == waited);
    }

    /** Makes memory that would do a piece of its own. */
    private static Piece carve(Fit fit) {
        final Piece piece = fit.piece;
        final SyncStream owner = piece.owner;
        final long stamp = piece.stamp;
        final long head = piece.cleanHead;
        final long tail = piece.cleanTail;
        if (fit.byteSize == piece.size()) {
            return piece;
        }
        if (fit.start == piece.start) {
            cut(piece, head).setTie(owner, stamp, 0, tail);
            piece.setTie(null, 0, 0, 0);
            return piece;
        }
        final Piece right = cut(piece, piece.size() - tail);
        piece.setTie(owner, stamp, head, 0);
        return right;
    }

    private void split(Piece piece, long rounded) {
        final long spare = piece.size() - rounded;
        final boolean byRequest = has(Bug.SPLITS_TOO_LATE) ? spare > rounded : spare >= rounded;
        final boolean byWaste = has(Bug.WASTES_ONE_UNIT_MORE)
                ? spare > config.maxDeadBytesPerChunk()
                : spare >= config.maxDeadBytesPerChunk();
        if (byRequest || byWaste) {
            final SyncStream owner = piece.owner;
            final long head = Math.max(0, piece.cleanHead - rounded);
            final Piece rest = cut(piece, rounded);
            rest.setTie(owner, piece.stamp, head, piece.cleanTail);
            mergeWithNext(rest);
        }
    }

    /** Cuts a piece in two, {@code byteSize} after its start. */
    private static Piece cut(Piece piece, long byteSize) {
        final Piece right = new Piece(piece.region, piece.start + byteSize, piece.end);
        piece.end = right.start;
        piece.region.pieces.add(piece.region.pieces.indexOf(piece) + 1, right);
        return right;
    }

    private void extend(long rounded) {
        final long available = (limit() - countedHeld()) / UNIT * UNIT;
        if (rounded > available) {
            throw outOfMemory("Available memory of " + available + " is smaller than requested bytes of " + rounded);
        }
        long ask = rounded;
        if (config.extendStrategy() == ExtendStrategy.POWER_OF_TWO) {
            boolean isIncreased = false;
            while (rounded > nextRegion) {
                nextRegion = has(Bug.GROWS_TO_THE_REQUEST) ? rounded : nextRegion * 2;
                isIncreased = true;
            }
            ask = Math.min(nextRegion, available);
            if (!isIncreased || has(Bug.DOUBLES_AT_ONCE)) {
                nextRegion = Math.min(nextRegion * 2, config.maxPowerOfTwoExtendBytes());
            }
        }
        while (true) {
            try {
                final long base = device.alloc(ask);
                regions.add(new Span(base, ask, regions.isEmpty()));
                return;
            } catch (OutOfMemoryException e) {
                ask = roundUp((long) (ask * 0.9f));
                if (ask < rounded || ask < 8192 || has(Bug.NEVER_BACKS_OFF)) {
                    throw outOfMemory("Failed to allocate memory for requested buffer of size " + rounded);
                }
            }
        }
    }

    private OutOfMemoryException outOfMemory(String reason) {
        failed += has(Bug.FORGETS_FAILURES) ? 0 : 1;
        return new OutOfMemoryException(
                reason, OutOfMemoryException.Shortage.ofDevice(FakeDevice.INFO, 0, OutOfMemoryException.UNKNOWN));
    }

    long reserve(long byteSize) {
        if (byteSize == 0) {
            return 0;
        }
        final long available = limit() - countedHeld();
        if (byteSize > available) {
            throw outOfMemory("Available memory of " + available + " is smaller than requested bytes of " + byteSize);
        }
        final long address;
        try {
            address = device.alloc(byteSize);
        } catch (OutOfMemoryException e) {
            throw outOfMemory("Failed to allocate memory for requested buffer of size " + byteSize);
        }
        reserves.put(address, byteSize);
        reservations++;
        count(byteSize);
        return address;
    }

    void free(long address) {
        if (reserves.remove(address) != null) {
            device.free(address);
            return;
        }
        final Piece piece = pieces().stream()
                .filter(candidate -> candidate.start == address && !candidate.isFree)
                .findFirst()
                .orElseThrow();
        piece.isFree = true;
        piece.requested = 0;
        final long stampAtFree = piece.owner == null ? 0 : piece.owner.syncId();
        piece.setTie(piece.owner, has(Bug.STAMPS_WHEN_TAKING) ? piece.stamp : stampAtFree, 0, 0);
        coalesce(piece);
    }

    private void coalesce(Piece piece) {
        mergeWithNext(piece);
        final int index = piece.region.pieces.indexOf(piece);
        if (index > 0 && !has(Bug.FORGETS_THE_PREVIOUS_NEIGHBOUR)) {
            final Piece previous = piece.region.pieces.get(index - 1);
            if (previous.isFree) {
                mergeWithNext(previous);
            }
        }
    }

    private void mergeWithNext(Piece left) {
        final List<Piece> pieces = left.region.pieces;
        final int index = pieces.indexOf(left);
        if (index + 1 == pieces.size()) {
            return;
        }
        final Piece right = pieces.get(index + 1);
        final boolean isUntied = left.owner == null || right.owner == null;
        final boolean mayMerge = left.owner == right.owner || (isUntied && !has(Bug.KEEPS_UNTIED_NEIGHBOURS_APART));
        if (!right.isFree || !mayMerge) {
            return;
        }
        final SyncStream owner = left.owner == null ? right.owner : left.owner;
        final long head = left.owner == null ? left.size() + right.cleanHead : left.cleanHead;
        final long tail = right.owner == null ? right.size() + left.cleanTail : right.cleanTail;
        final long stamp =
                has(Bug.TAKES_THE_LOWER_STAMP) ? Math.min(left.stamp, right.stamp) : Math.max(left.stamp, right.stamp);
        pieces.remove(right);
        left.end = right.end;
        left.setTie(owner, stamp, head, tail);
    }

    void release(SyncStream stream) {
        if (!has(Bug.RELEASE_FORGETS_WHAT_IS_IN_USE)) {
            untieInUse(stream);
        }
        untieFree(stream);
    }

    void endRun(SyncStream stream) {
        if (has(Bug.RUN_END_REACHES_WHAT_IS_IN_USE)) {
            untieInUse(stream);
        }
        untieFree(stream);
    }

    private void untieInUse(SyncStream stream) {
        for (final Piece piece : pieces()) {
            if (piece.owner == stream && !piece.isFree) {
                piece.owner = null;
            }
        }
    }

    private void untieFree(SyncStream stream) {
        Optional<Piece> tied = smallestOf(stream);
        while (tied.isPresent()) {
            tied.get().setTie(null, 0, 0, 0);
            coalesce(tied.get());
            tied = smallestOf(stream);
        }
    }

    private Optional<Piece> smallestOf(SyncStream stream) {
        return pieces().stream()
                .filter(piece -> piece.isFree && piece.owner == stream)
                .min(Comparator.comparingLong(Piece::size).thenComparingLong(piece -> piece.start));
    }

    void shrink() {
        final boolean keepsFirst = config.keepFirstRegion()
                && config.extendStrategy() == ExtendStrategy.POWER_OF_TWO
                && !has(Bug.SHRINK_RETURNS_THE_FIRST_REGION);
        for (final Span region : List.copyOf(regions)) {
            if (region.isIdle() && !(region.isFirst && keepsFirst)) {
                regions.remove(region);
                device.free(region.base);
                shrinkages++;
            }
        }
        if (!has(Bug.SHRINK_KEEPS_GROWTH)) {
            nextRegion = config.initialGrowthChunkBytes();
        }
    }

    private List<Piece> pieces() {
        return regions.stream()
                .sorted(Comparator.comparingLong(region -> region.base))
                .flatMap(region -> region.pieces.stream())
                .toList();
    }

    private long inUse() {
        return reserved()
                + pieces().stream()
                        .filter(piece -> !piece.isFree)
                        .mapToLong(Piece::size)
                        .sum();
    }

    private long reserved() {
        return reserves.values().stream().mapToLong(Long::longValue).sum();
    }

    private long held() {
        return reserved()
                + regions.stream().mapToLong(region -> region.byteSize).sum();
    }

    private long countedHeld() {
        return has(Bug.LIMIT_IGNORES_RESERVES) ? held() - reserved() : held();
    }

    AllocatorStats stats() {
        final long requested =
                pieces().stream().mapToLong(piece -> piece.requested).sum();
        final long largest = pieces().stream()
                .filter(piece -> piece.isFree)
                .mapToLong(Piece::size)
                .max()
                .orElse(0);
        return new AllocatorStats.Builder()
                .limit(config.maxMem() == 0 ? AllocatorStats.UNLIMITED : config.maxMem())
                .inUse(inUse(), requested + reserved(), peakInUse)
                .held(held(), peakHeld)
                .free(held() - inUse(), largest)
                .calls(allocs, reservations, failed, maxAlloc)
                .regions(regions.size(), shrinkages)
                .build();
    }

    /** All chunks in order of address. */
    List<ArenaSnapshot.Chunk> chunks() {
        return pieces().stream()
                .map(piece -> new ArenaSnapshot.Chunk(
                        piece.start,
                        piece.size(),
                        piece.isFree,
                        piece.requested,
                        piece.owner == null ? 0 : piece.owner.id(),
                        piece.isFree ? piece.stamp : 0,
                        piece.isFree ? piece.cleanHead : 0,
                        piece.isFree ? piece.cleanTail : 0))
                .toList();
    }
}
