package exam.pulse;

import allocator.spi.AllocatorClosedException;
import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorStats;
import allocator.spi.DoubleFreeException;
import allocator.spi.ForeignAddressException;
import allocator.spi.InteriorAddressException;
import allocator.spi.InvalidFreeException;
import allocator.spi.InvalidSizeException;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryType;
import allocator.spi.OutOfMemoryException;
import allocator.spi.ShrinkReport;
import allocator.spi.ShrinkReport.Held;
import allocator.spi.ShrinkableAllocator;
import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncStream;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Takes each block from the driver, and caches what is freed for requests of about the same size. What was freed on a
 * stream is cached for that stream, until others have waited for it.
 *
 * <p>Before it reports exhaustion, it waits once for the streams whose cached blocks are in the way.
 *
 * <p>One class, since its tables have one lock.
 */
class PulseAllocator implements StreamAwareAllocator, ShrinkableAllocator {
    private final Factory factory;
    private final MemoryInfo info;
    private final Driver driver;
    private final AllocatorOptions effective;
    private final boolean isPinned;
    private final boolean isCaching;
    private final long limit;
    private final long unit;

    /** Every block that is held, live or cached, by its address. */
    private final Map<Long, Block> blocks = new HashMap<>();

    /** The cached blocks by size; a size has its place as long as a block has it. */
    private final TreeMap<Long, Shelf> shelves = new TreeMap<>();

    private boolean isClosed;
    private long inUse;
    private long requestedInUse;
    private long held;
    private long peakInUse;
    private long peakHeld;
    private long largestSoFar;
    private long allocs;
    private long reserves;
    private long failed;
    private long reused;
    private long cached;
    /** Blocks held that are no reserves, and those given back so far. */
    private long shelved;

    private long returned;

    PulseAllocator(Factory factory, MemoryInfo info, Driver driver, AllocatorOptions effective) {
        this.factory = factory;
        this.info = info;
        this.driver = driver;
        this.effective = effective;
        isPinned = info.memoryType() == MemoryType.HOST_ACCESSIBLE;
        isCaching = effective.get(Factory.CACHE);
        limit = effective.get(Factory.LIMIT);
        unit = effective.get(Factory.BLOCK_UNIT);
    }

    /** The cached blocks of one size. */
    private static final class Shelf {
        final Long byteSize;
        /** How many blocks of the size are held, live ones included. */
        int held;

        Block first;

        Shelf(Long byteSize) {
            this.byteSize = byteSize;
        }
    }

    /** Memory taken from the driver. */
    static final class Block {
        final Driver.Allocation memory;
        final Long address;
        final long byteSize;
        /** Where it is cached, null for a reserve. */
        final Shelf shelf;

        boolean isLive;
        long requested;
        /** The stream that it was allocated on, or freed on; null for none. */
        PulseStream owner;
        /** Of a cached block: what the stream had done when it was freed. */
        long stamp;

        long runsAtFree;
        long submittedAtFree;
        Block next;
        Block previous;

        Block(Driver.Allocation memory, long byteSize, Shelf shelf) {
            this.memory = memory;
            this.address = memory.address();
            this.byteSize = byteSize;
            this.shelf = shelf;
        }

        /** Returns whether no stream is known to use it. */
        boolean isUnbound() {
            return owner == null || owner.hasEnded() || owner.hasRunEndedSince(runsAtFree, submittedAtFree);
        }

        boolean isUsableOn(PulseStream stream) {
            return isUnbound() || stream != null && stream.lastWaitedSyncId(owner) > stamp;
        }
    }

    @Override
    public final MemoryInfo info() {
        return info;
    }

    @Override
    public int spiLevel() {
        return 25;
    }

    @Override
    public final AllocatorOptions effectiveOptions() {
        return effective;
    }

    @Override
    public final long alloc(long byteSize) {
        return allocate(byteSize, null, false);
    }

    @Override
    public final long allocOnStream(long byteSize, SyncStream stream) {
        return allocate(byteSize, factory.requireStream(stream, info.deviceOrdinal()), false);
    }

    @Override
    public final long reserve(long byteSize) {
        return allocate(byteSize, null, true);
    }

    private long allocate(long byteSize, PulseStream stream, boolean isReserve) {
        final Map<PulseStream, Long> inTheWay;
        synchronized (this) {
            requireOpen();
            if (byteSize == 0) {
                return 0;
            }
            final long rounded = round(byteSize);
            Block block = isReserve ? null : findCached(rounded, stream);
            if (block == null) {
                block = take(rounded, byteSize, isReserve);
            }
            if (block != null) {
                return enter(block, byteSize, stream);
            }
            inTheWay = bound();
        }
        inTheWay.forEach(PulseStream::await);
        synchronized (this) {
            requireOpen();
            Block block = take(round(byteSize), byteSize, isReserve);
            if (block == null && !isReserve) {
                block = takeOnShelf(byteSize);
            }
            if (block == null) {
                throw exhausted(byteSize, isReserve ? byteSize : round(byteSize));
            }
            return enter(block, byteSize, stream);
        }
    }

    private long round(long byteSize) {
        if (byteSize < 0) {
            throw InvalidSizeException.negative(byteSize);
        }
        if (byteSize > Long.MAX_VALUE - unit) {
            throw InvalidSizeException.overflow(byteSize, unit);
        }
        return (byteSize + unit - 1) / unit * unit;
    }

    /** Takes a block from the cache that a stream may use, of a size or up to an eighth more; null if there is none. */
    private Block findCached(long byteSize, PulseStream stream) {
        for (Shelf shelf : shelves.tailMap(byteSize).values()) {
            if (shelf.byteSize - byteSize > byteSize / 8) {
                return null;
            }
            for (Block block = shelf.first; block != null; block = block.next) {
                if (block.isUsableOn(stream)) {
                    unshelve(block);
                    reused++;
                    return block;
                }
            }
        }
        return null;
    }

    /** Takes a block, if need be after the cache gave back what it may; null if it does not fit then. */
    private Block take(long rounded, long exact, boolean isReserve) {
        Block block = isReserve ? takeFromDriver(exact, null) : takeOnShelf(rounded);
        if (block == null) {
            evict(true);
            block = isReserve ? takeFromDriver(exact, null) : takeOnShelf(rounded);
        }
        return block;
    }

    private Block takeOnShelf(long byteSize) {
        final Long size = byteSize;
        final Shelf present = shelves.get(size);
        final Shelf shelf = present == null ? new Shelf(size) : present;
        shelves.put(size, shelf);
        shelf.held++;
        Block block = null;
        try {
            block = takeFromDriver(byteSize, shelf);
        } finally {
            if (block == null) {
                forget(shelf);
            }
        }
        return block;
    }

    private void forget(Shelf shelf) {
        shelf.held--;
        if (shelf.held == 0) {
            shelves.remove(shelf.byteSize);
        }
    }

    /** Takes a block from the driver; null if limit or driver have no room for it. */
    private Block takeFromDriver(long byteSize, Shelf shelf) {
        if (limit != 0 && byteSize > limit - held) {
            return null;
        }
        final Driver.Allocation memory = driver.allocate(byteSize, isPinned, info.byteAlignment());
        if (memory == null) {
            return null;
        }
        Block block = null;
        try {
            block = new Block(memory, byteSize, shelf);
            blocks.put(block.address, block);
        } catch (Throwable e) {
            if (block != null) {
                blocks.remove(block.address);
            }
            driver.free(memory);
            throw e;
        }
        held += byteSize;
        peakHeld = Math.max(peakHeld, held);
        if (shelf != null) {
            shelved++;
        }
        return block;
    }

    private long enter(Block block, long requested, PulseStream stream) {
        block.isLive = true;
        block.requested = requested;
        block.owner = stream;
        inUse += block.byteSize;
        requestedInUse += requested;
        peakInUse = Math.max(peakInUse, inUse);
        largestSoFar = Math.max(largestSoFar, block.byteSize);
        allocs++;
        if (block.shelf == null) {
            reserves++;
        }
        return block.address;
    }

    @Override
    public final synchronized void free(long address) {
        requireOpen();
        if (address == 0) {
            return;
        }
        final Block block = blocks.get(address);
        if (block == null || !block.isLive) {
            throw invalid(address, block);
        }
        if (block.owner != null) {
            block.runsAtFree = block.owner.runs();
            block.submittedAtFree = block.owner.submitted();
            block.stamp = block.owner.syncId();
        }
        if (block.shelf == null || !isCaching && block.isUnbound()) {
            giveBack(block);
        } else {
            shelve(block);
        }
        inUse -= block.byteSize;
        requestedInUse -= block.requested;
        block.isLive = false;
    }

    private void shelve(Block block) {
        block.next = block.shelf.first;
        block.previous = null;
        if (block.next != null) {
            block.next.previous = block;
        }
        block.shelf.first = block;
        cached++;
    }

    private void unshelve(Block block) {
        if (block.previous == null) {
            block.shelf.first = block.next;
        } else {
            block.previous.next = block.next;
        }
        if (block.next != null) {
            block.next.previous = block.previous;
        }
        block.next = null;
        block.previous = null;
        cached--;
    }

    /** Gives a block back to the driver. If that throws, nothing has changed. */
    private void giveBack(Block block) {
        driver.free(block.memory);
        blocks.remove(block.address);
        held -= block.byteSize;
        if (block.shelf != null) {
            forget(block.shelf);
            shelved--;
            returned++;
        }
    }

    private InvalidFreeException invalid(long address, Block freed) {
        if (freed != null) {
            return new DoubleFreeException(address, "this block of " + info + " was freed already");
        }
        final Block around = around(address);
        return around != null
                ? new InteriorAddressException(address, address - around.address + " bytes into a block of " + info)
                : new ForeignAddressException(address, "no block of " + info);
    }

    private Block around(long address) {
        for (Block block : blocks.values()) {
            if (block.isLive && address > block.address && address - block.address < block.byteSize) {
                return block;
            }
        }
        return null;
    }

    /** Gives cached blocks back: those that are unbound, and also those that the device has done with. */
    private void evict(boolean alsoDone) {
        for (Block block : cachedBlocks()) {
            if (block.isUnbound() || alsoDone && block.owner.isDone(block.submittedAtFree)) {
                giveBack(block);
                unshelve(block);
            }
        }
    }

    private List<Block> cachedBlocks() {
        final List<Block> found = new ArrayList<>();
        for (Shelf shelf : shelves.values()) {
            for (Block block = shelf.first; block != null; block = block.next) {
                found.add(block);
            }
        }
        return found;
    }

    /** Returns the streams that cached blocks are bound to, with the work to wait for. */
    private Map<PulseStream, Long> bound() {
        final Map<PulseStream, Long> streams = new HashMap<>();
        for (Block block : cachedBlocks()) {
            if (!block.isUnbound()) {
                streams.merge(block.owner, block.submittedAtFree, Math::max);
            }
        }
        return streams;
    }

    @Override
    public final synchronized ShrinkReport shrink() {
        requireOpen();
        final long before = held;
        final long returnedBefore = returned;
        evict(false);
        final long stays = held - inUse;
        final List<Held> reasons = new ArrayList<>();
        if (inUse > 0) {
            reasons.add(new Held(inUse, 0, "live blocks"));
        }
        if (stays > 0) {
            reasons.add(new Held(stays, 0, "freed on a stream whose run has not ended"));
        }
        return new ShrinkReport(
                before - held,
                (int) (returned - returnedBefore),
                held,
                (int) (shelved - cached),
                (int) cached,
                reasons);
    }

    private OutOfMemoryException exhausted(long byteSize, long rounded) {
        final OutOfMemoryException e = new OutOfMemoryException(
                limit != 0 && byteSize > limit - held ? "the limit is reached" : "PULSE_OUT_OF_MEMORY",
                new OutOfMemoryException.Shortage(
                        info,
                        byteSize,
                        rounded,
                        statedLimit(),
                        inUse,
                        held,
                        largestCached(),
                        driver.available(isPinned)));
        failed++;
        return e;
    }

    private long statedLimit() {
        return limit == 0 ? AllocatorStats.UNLIMITED : limit;
    }

    private long largestCached() {
        for (Shelf shelf : shelves.descendingMap().values()) {
            if (shelf.first != null) {
                return shelf.byteSize;
            }
        }
        return 0;
    }

    @Override
    public final synchronized AllocatorStats stats() {
        requireOpen();
        return new AllocatorStats.Builder()
                .limit(statedLimit())
                .inUse(inUse, requestedInUse, peakInUse)
                .held(held, peakHeld)
                .free(held - inUse, largestCached())
                .calls(allocs, reserves, failed, largestSoFar)
                .regions(shelved, returned)
                .counter("PulseReused", reused, AllocatorStats.Unit.COUNT, true)
                .counter("PulseCachedBlocks", cached, AllocatorStats.Unit.COUNT, false)
                .build();
    }

    final void requireOpen() {
        if (isClosed) {
            throw new AllocatorClosedException("the allocator of " + info + " is closed");
        }
    }

    /** Returns a live block, or null. */
    final Block live(long address) {
        final Block block = blocks.get(address);
        return block != null && block.isLive ? block : null;
    }

    final Driver driver() {
        return driver;
    }

    /** Waits for all work of streams, and gives everything back. */
    void close(List<PulseStream> streams) {
        synchronized (this) {
            isClosed = true;
        }
        for (PulseStream stream : streams) {
            stream.await(stream.submitted());
        }
        synchronized (this) {
            for (Block block : blocks.values()) {
                driver.free(block.memory);
            }
            blocks.clear();
        }
    }
}
