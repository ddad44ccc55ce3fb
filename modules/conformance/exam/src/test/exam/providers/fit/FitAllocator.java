package exam.fit;

import allocator.spi.AllocatorClosedException;
import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorStats;
import allocator.spi.ForeignAddressException;
import allocator.spi.HostAccessibleAllocator;
import allocator.spi.InteriorAddressException;
import allocator.spi.InvalidSizeException;
import allocator.spi.MemoryInfo;
import allocator.spi.OptionKey;
import allocator.spi.OutOfMemoryException;
import allocator.spi.ShrinkReport;
import allocator.spi.ShrinkableAllocator;
import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncStream;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * An arena over a simulated memory: first fit by address in regions that grow by doubling. Chunks that were freed on a
 * stream stay bound to it; neighbours that a requester may use serve it together.
 *
 * <p>Before it reports exhaustion an allocation waits once for the streams that free chunks are bound to, and returns
 * the regions without live blocks to the device.
 */
// One class, since the edits of the exam are of this one text.
class FitAllocator implements StreamAwareAllocator, ShrinkableAllocator {
    static final OptionKey<Long> MAX_MEM =
            OptionKey.bytes("arena.max_mem", 0, "the most that the arena may hold, reserves included; 0 is no limit");
    static final OptionKey<Boolean> STRATEGY = OptionKey.choice(
            "arena.extend_strategy",
            false,
            Map.of("0", false, "kNextPowerOfTwo", false, "1", true, "kSameAsRequested", true),
            "size of the next region: doubling, or as requested");
    static final OptionKey<Long> INITIAL =
            OptionKey.size("arena.initial_chunk_size_bytes", 1 << 20, "size of the first region when doubling");
    static final OptionKey<Long> GROWTH = OptionKey.size(
            "arena.initial_growth_chunk_size_bytes", 2 << 20, "size of the next region after a shrink when doubling");
    static final OptionKey<Long> MAX_EXTEND =
            OptionKey.size("arena.max_power_of_two_extend_bytes", 1 << 30, "size at which doubling ends");
    static final OptionKey<Long> MAX_DEAD = OptionKey.size(
            "arena.max_dead_bytes_per_chunk", 128 << 20, "a chunk with this excess or more is always split");
    static final List<OptionKey<?>> KEYS = List.of(MAX_MEM, STRATEGY, INITIAL, GROWTH, MAX_EXTEND, MAX_DEAD);

    private static final List<OptionKey<?>> KEYS_AS_REQUESTED = List.of(MAX_MEM, STRATEGY, MAX_DEAD);
    private static final int LEVEL = 25;

    private final MemoryInfo info;
    private final Factory factory;
    private final Device device;
    private final AllocatorOptions effective;
    private final long limit;
    private final boolean isAsRequested;
    private final long growth;
    private final long maxExtend;
    private final long maxDead;

    /** Guards all that follows. Nothing waits for a stream inside. */
    private final Object lock = new Object();

    private final ArrayList<Region> regions = new ArrayList<>();
    private final HashMap<Long, Chunk> live = new HashMap<>();
    private long nextRegion;
    private boolean isClosed;
    private long bytesInUse;
    private long requestedInUse;
    private long bytesHeld;
    private long peakInUse;
    private long peakHeld;
    private long maxAllocSize;
    private long numAllocs;
    private long numReserves;
    private long numFailed;
    private long numShrinkages;

    /** A part of a region, or a reserve. */
    private static final class Chunk {
        /** Where the memory comes from, if it is a reserve. */
        Device.Span reserve;

        Region region;
        Chunk previous;
        Chunk next;
        long address;
        long byteSize;
        long requested;
        boolean isFree = true;

        /** The stream that it was allocated on, and is bound to once it is freed; null for none. */
        FitStream stream;

        /** Sync id and ticket of the stream at the free. */
        long stamp;

        long ticket;

        boolean isUsableBy(FitStream requester) {
            if (!isFree) {
                return false;
            }
            if (stream == null || stream.hasEnded()) {
                return true;
            }
            return requester != null && requester.lastWaitedSyncId(stream) > stamp;
        }
    }

    /** Memory from the device, divided into chunks without gaps. */
    private static final class Region {
        final Device.Span span;
        Chunk first = new Chunk();

        /** No free chunk comes before this one. */
        Chunk hint = first;

        Region(long byteSize) {
            span = new Device.Span(byteSize);
            first.region = this;
        }
    }

    FitAllocator(MemoryInfo info, Factory factory, Device device, AllocatorOptions options) {
        this.info = info;
        this.factory = factory;
        this.device = device;
        limit = options.get(MAX_MEM);
        isAsRequested = options.get(STRATEGY);
        nextRegion = options.get(INITIAL);
        growth = options.get(GROWTH);
        maxExtend = options.get(MAX_EXTEND);
        maxDead = options.get(MAX_DEAD);
        effective = options.resolve(isAsRequested ? KEYS_AS_REQUESTED : KEYS);
    }

    @Override
    public long alloc(long byteSize) {
        return allocate(byteSize, null, false);
    }

    @Override
    public long reserve(long byteSize) {
        return allocate(byteSize, null, true);
    }

    @Override
    public long allocOnStream(long byteSize, SyncStream stream) {
        Objects.requireNonNull(stream, "stream");
        synchronized (lock) {
            requireOpen();
        }
        if (!(stream instanceof FitStream mine)
                || mine.factory() != factory
                || mine.memory().deviceOrdinal() != info.deviceOrdinal()) {
            throw new IllegalArgumentException(stream + " is not of the device of " + info);
        }
        mine.requireOpen();
        return allocate(byteSize, mine, false);
    }

    private long allocate(long byteSize, FitStream stream, boolean isReserve) {
        for (boolean isLast = false; ; isLast = true) {
            synchronized (lock) {
                requireOpen();
                requireSize(byteSize);
                if (byteSize == 0) {
                    return 0;
                }
                final long address = isReserve ? tryReserve(byteSize) : tryAlloc(byteSize, stream);
                if (address != 0) {
                    return address;
                }
                if (isLast) {
                    final OutOfMemoryException failure = exhausted(byteSize, stream, isReserve);
                    numFailed++;
                    throw failure;
                }
            }
            awaitUsers(false);
            synchronized (lock) {
                releaseRegions();
            }
        }
    }

    private long tryAlloc(long byteSize, FitStream stream) {
        Chunk first = firstFit(byteSize, stream);
        if (first == null) {
            first = extend(byteSize);
        }
        return first == null ? 0 : take(first, byteSize, stream);
    }

    /** Returns the first chunk of the first run of usable chunks that is large enough. */
    private Chunk firstFit(long byteSize, FitStream stream) {
        for (int i = 0; i < regions.size(); i++) {
            final Region region = regions.get(i);
            while (!region.hint.isFree && region.hint.next != null) {
                region.hint = region.hint.next;
            }
            for (Chunk at = region.hint; at != null; at = at.next) {
                final Chunk first = at;
                long run = 0;
                while (at != null && at.isUsableBy(stream)) {
                    run += at.byteSize;
                    at = at.next;
                }
                if (run >= byteSize) {
                    return first;
                }
                if (at == null) {
                    break;
                }
            }
        }
        return null;
    }

    /** Makes a block at the start of a run of usable chunks. */
    private long take(Chunk first, long byteSize, FitStream stream) {
        long run = 0;
        for (Chunk at = first; at != null && at.isUsableBy(stream); at = at.next) {
            run += at.byteSize;
        }
        final long wanted = Math.min(Device.roundUp(byteSize), run);
        final long excess = run - wanted;
        final long taken = excess >= wanted || excess >= maxDead ? wanted : run;
        final Chunk rest = first.byteSize > taken ? new Chunk() : null;
        live.put(first.address, first);
        if (rest != null) {
            rest.region = first.region;
            rest.address = first.address + taken;
            rest.byteSize = first.byteSize - taken;
            rest.stream = first.stream;
            rest.stamp = first.stamp;
            rest.ticket = first.ticket;
            insertAfter(first, rest);
            first.byteSize = taken;
        }
        while (first.byteSize < taken) {
            final Chunk neighbour = first.next;
            final long part = Math.min(neighbour.byteSize, taken - first.byteSize);
            first.byteSize += part;
            neighbour.address += part;
            neighbour.byteSize -= part;
            if (neighbour.byteSize == 0) {
                remove(neighbour);
            }
        }
        first.isFree = false;
        first.requested = byteSize;
        first.stream = stream;
        countAllocated(taken, byteSize);
        return first.address;
    }

    /** Takes a region from the device and returns its chunk; null if limit or device have no room. */
    private Chunk extend(long byteSize) {
        final long rounded = Device.roundUp(byteSize);
        final long available = available();
        if (byteSize > available) {
            return null;
        }
        long doubled = nextRegion;
        boolean isIncreased = false;
        while (doubled < rounded) {
            doubled = doubled > Long.MAX_VALUE / 2 ? rounded : doubled * 2;
            isIncreased = true;
        }
        final Region region = new Region(Math.min(isAsRequested ? rounded : doubled, available));
        regions.ensureCapacity(regions.size() + 1);
        if (!device.take(region.span, byteSize)) {
            return null;
        }
        region.first.address = region.span.address;
        region.first.byteSize = region.span.byteSize;
        regions.add(region);
        if (!isAsRequested) {
            final long further = isIncreased || doubled > Long.MAX_VALUE / 2 ? doubled : doubled * 2;
            nextRegion = Math.min(maxExtend, further);
        }
        countHeld(region.span.byteSize);
        return region.first;
    }

    private long tryReserve(long byteSize) {
        final Chunk chunk = new Chunk();
        final Device.Span span = new Device.Span(byteSize);
        if (byteSize > available() || !device.take(span, byteSize)) {
            return 0;
        }
        boolean isEntered = false;
        try {
            live.put(span.address, chunk);
            isEntered = true;
        } finally {
            if (!isEntered) {
                device.give(span);
            }
        }
        chunk.reserve = span;
        chunk.address = span.address;
        chunk.byteSize = byteSize;
        chunk.requested = byteSize;
        chunk.isFree = false;
        countHeld(byteSize);
        countAllocated(byteSize, byteSize);
        numReserves++;
        return span.address;
    }

    private long available() {
        return (limit == 0 ? Long.MAX_VALUE : limit) - bytesHeld;
    }

    private void countHeld(long byteSize) {
        bytesHeld += byteSize;
        peakHeld = Math.max(peakHeld, bytesHeld);
    }

    private void countAllocated(long byteSize, long requested) {
        bytesInUse += byteSize;
        requestedInUse += requested;
        peakInUse = Math.max(peakInUse, bytesInUse);
        maxAllocSize = Math.max(maxAllocSize, byteSize);
        numAllocs++;
    }

    private OutOfMemoryException exhausted(long byteSize, FitStream stream, boolean isReserve) {
        final boolean isLimited = byteSize > available();
        return new OutOfMemoryException(
                isLimited ? "the limit is reached" : "the device has no more memory",
                new OutOfMemoryException.Shortage(
                        info,
                        byteSize,
                        isReserve ? byteSize : Device.roundUp(byteSize),
                        limit == 0 ? AllocatorStats.UNLIMITED : limit,
                        bytesInUse,
                        bytesHeld,
                        largestUsableBy(stream),
                        device.free()));
    }

    @Override
    public void free(long address) {
        synchronized (lock) {
            requireOpen();
            if (address == 0) {
                return;
            }
            final Chunk chunk = live.remove(address);
            if (chunk == null) {
                throw isInsideBlock(address)
                        ? new InteriorAddressException(address, "inside a live block")
                        : new ForeignAddressException(address, "no live block");
            }
            bytesInUse -= chunk.byteSize;
            requestedInUse -= chunk.requested;
            if (chunk.reserve != null) {
                device.give(chunk.reserve);
                bytesHeld -= chunk.byteSize;
                return;
            }
            chunk.isFree = true;
            if (chunk.stream != null && chunk.stream.hasEnded()) {
                chunk.stream = null;
            } else if (chunk.stream != null) {
                chunk.stamp = chunk.stream.syncId();
                chunk.ticket = chunk.stream.ticket();
            }
            coalesce(chunk);
        }
    }

    private boolean isInsideBlock(long address) {
        for (Chunk chunk : live.values()) {
            if (address > chunk.address && address - chunk.address < chunk.byteSize) {
                return true;
            }
        }
        return false;
    }

    /** Merges a free chunk with the neighbours that are free and bound to the same stream; returns the result. */
    private static Chunk coalesce(Chunk chunk) {
        Chunk merged = chunk;
        if (isMergeable(merged, merged.next)) {
            absorbNext(merged);
        }
        if (isMergeable(merged, merged.previous)) {
            merged = merged.previous;
            absorbNext(merged);
        }
        if (merged.address < merged.region.hint.address) {
            merged.region.hint = merged;
        }
        return merged;
    }

    private static boolean isMergeable(Chunk chunk, Chunk neighbour) {
        return neighbour != null && neighbour.isFree && neighbour.stream == chunk.stream;
    }

    private static void absorbNext(Chunk chunk) {
        final Chunk next = chunk.next;
        chunk.byteSize += next.byteSize;
        chunk.stamp = Math.max(chunk.stamp, next.stamp);
        chunk.ticket = Math.max(chunk.ticket, next.ticket);
        if (chunk.region.hint == next) {
            chunk.region.hint = chunk;
        }
        remove(next);
    }

    private static void insertAfter(Chunk chunk, Chunk next) {
        next.previous = chunk;
        next.next = chunk.next;
        if (chunk.next != null) {
            chunk.next.previous = next;
        }
        chunk.next = next;
    }

    private static void remove(Chunk chunk) {
        chunk.previous.next = chunk.next;
        if (chunk.next != null) {
            chunk.next.previous = chunk.previous;
        }
    }

    /** Makes free chunks of a stream usable by every stream, if they were freed up to a ticket. */
    void unbind(FitStream stream, long ticket) {
        synchronized (lock) {
            for (int i = 0; i < regions.size(); i++) {
                for (Chunk at = regions.get(i).first; at != null; at = at.next) {
                    if (at.isFree && at.stream == stream && at.ticket <= ticket) {
                        at.stream = null;
                        at = coalesce(at);
                    }
                }
            }
        }
    }

    /** Waits for the work that may use free chunks, or all of them. */
    private void awaitUsers(boolean isWithLive) {
        final Map<FitStream, Long> tickets = new HashMap<>();
        synchronized (lock) {
            for (Region region : regions) {
                for (Chunk at = region.first; at != null; at = at.next) {
                    if (at.stream != null && (at.isFree || isWithLive)) {
                        tickets.merge(at.stream, at.isFree ? at.ticket : at.stream.ticket(), Math::max);
                    }
                }
            }
        }
        tickets.forEach(FitStream::await);
    }

    /** Returns the regions to the device in which nothing is live and that no stream may use; their number. */
    private int releaseRegions() {
        int released = 0;
        for (int i = regions.size() - 1; i >= 0; i--) {
            final Region region = regions.get(i);
            if (isUnused(region)) {
                regions.remove(i);
                device.give(region.span);
                bytesHeld -= region.span.byteSize;
                numShrinkages++;
                released++;
            }
        }
        return released;
    }

    private static boolean isUnused(Region region) {
        for (Chunk at = region.first; at != null; at = at.next) {
            if (!at.isFree || at.stream != null && !at.stream.isDone(at.ticket)) {
                return false;
            }
        }
        return true;
    }

    @Override
    public ShrinkReport shrink() {
        synchronized (lock) {
            requireOpen();
        }
        awaitUsers(false);
        synchronized (lock) {
            requireOpen();
            final long before = bytesHeld;
            final int released = releaseRegions();
            nextRegion = growth;
            int inUse = 0;
            for (Region region : regions) {
                inUse += hasLive(region) ? 1 : 0;
            }
            return new ShrinkReport(before - bytesHeld, released, bytesHeld, inUse, regions.size() - inUse);
        }
    }

    private static boolean hasLive(Region region) {
        for (Chunk at = region.first; at != null; at = at.next) {
            if (!at.isFree) {
                return true;
            }
        }
        return false;
    }

    private long largestUsableBy(FitStream stream) {
        long largest = 0;
        for (Region region : regions) {
            long run = 0;
            for (Chunk at = region.first; at != null; at = at.next) {
                run = at.isUsableBy(stream) ? run + at.byteSize : 0;
                largest = Math.max(largest, run);
            }
        }
        return largest;
    }

    /** Returns the largest run of free chunks that are unbound or bound to one stream. */
    private long largestFree() {
        long largest = 0;
        for (Region region : regions) {
            FitStream owner = null;
            long run = 0;
            long unbound = 0;
            for (Chunk at = region.first; at != null; at = at.next) {
                if (at.isFree && at.stream != null && owner != null && at.stream != owner) {
                    run = unbound;
                }
                owner = at.stream != null ? at.stream : owner;
                run = at.isFree ? run + at.byteSize : 0;
                unbound = at.isFree && at.stream == null ? unbound + at.byteSize : 0;
                largest = Math.max(largest, run);
            }
        }
        return largest;
    }

    @Override
    public AllocatorStats stats() {
        synchronized (lock) {
            requireOpen();
            return new AllocatorStats.Builder()
                    .limit(limit == 0 ? AllocatorStats.UNLIMITED : limit)
                    .inUse(bytesInUse, requestedInUse, peakInUse)
                    .held(bytesHeld, peakHeld)
                    .free(bytesHeld - bytesInUse, largestFree())
                    .calls(numAllocs, numReserves, numFailed, maxAllocSize)
                    .regions(regions.size(), numShrinkages)
                    .build();
        }
    }

    /** Returns everything to the device, once the streams are done with it. */
    void close() {
        synchronized (lock) {
            isClosed = true;
        }
        awaitUsers(true);
        synchronized (lock) {
            for (Region region : regions) {
                device.give(region.span);
            }
            regions.clear();
            for (Chunk chunk : live.values()) {
                if (chunk.reserve != null) {
                    device.give(chunk.reserve);
                }
            }
            live.clear();
        }
    }

    final void requireOpen() {
        if (isClosed) {
            throw new AllocatorClosedException("the allocator of " + info + " is closed");
        }
    }

    private static void requireSize(long byteSize) {
        if (byteSize < 0) {
            throw InvalidSizeException.negative(byteSize);
        }
        if (byteSize > Long.MAX_VALUE - Device.GRANULE + 1) {
            throw InvalidSizeException.overflow(byteSize, Device.GRANULE);
        }
    }

    @Override
    public final MemoryInfo info() {
        return info;
    }

    @Override
    public final int spiLevel() {
        return LEVEL;
    }

    @Override
    public final AllocatorOptions effectiveOptions() {
        return effective;
    }

    /** The same over memory of the host. */
    static final class Pinned extends FitAllocator implements HostAccessibleAllocator {
        Pinned(MemoryInfo info, Factory factory, Device device, AllocatorOptions options) {
            super(info, factory, device, options);
        }

        @Override
        public MemorySegment segment(long address, long byteSize) {
            synchronized (super.lock) {
                requireOpen();
            }
            if (byteSize < 0) {
                throw InvalidSizeException.negative(byteSize);
            }
            if (address == 0 && byteSize != 0) {
                throw new InvalidSizeException(byteSize, "is not the size of the empty allocation");
            }
            return Device.segment(address, byteSize);
        }
    }
}
