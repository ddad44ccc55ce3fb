package allocator.arena.compact;

import allocator.arena.chunk.BackedFit;
import allocator.arena.chunk.ConsistencyCheck;
import allocator.arena.chunk.Granules;
import allocator.arena.chunk.Region;
import allocator.provider.support.Limit;
import allocator.spi.AllocatorStats;
import allocator.spi.DoubleFreeException;
import allocator.spi.ForeignAddressException;
import allocator.spi.InteriorAddressException;
import allocator.spi.InvalidFreeException;
import allocator.spi.OutOfMemoryException;
import allocator.spi.OutOfMemoryException.Shortage;

/** Describes an arena: statistics, the failure of a request or a free, and whether its tables agree. */
final class CompactReport {
    private final CompactArena arena;
    private final BackedFit placement;
    private long failedRequests;

    CompactReport(CompactArena arena) {
        this.arena = arena;
        placement = arena.placement;
    }

    private long limit() {
        return new Limit(arena.config.maxMem()).toStats();
    }

    private long idleBytes() {
        return arena.table.idle() * arena.pageBytes;
    }

    /** Returns the counters. Under the arena's lock. */
    AllocatorStats stats() {
        return arena.counters.toStats(limit(), idleBytes(), failedRequests);
    }

    /** Returns the exception for a request that fails, and counts it. Takes the lock. */
    OutOfMemoryException outOfMemory(long byteSize, OutOfMemoryException cause) {
        final Shortage shortage = arena.locked(() -> {
            failedRequests++;
            return new Shortage(
                    arena.info,
                    byteSize,
                    Granules.roundUp(byteSize),
                    limit(),
                    arena.counters.inUse(),
                    arena.counters.held(),
                    idleBytes(),
                    cause.shortage().deviceFree());
        });
        return new OutOfMemoryException(
                "Failed to back an allocation of " + byteSize + " bytes with pages of " + arena.pageBytes + " bytes",
                shortage,
                "",
                cause);
    }

    /** Returns the exception for a free of an address at which no live chunk starts. Under the arena's lock. */
    InvalidFreeException invalidFree(long address) {
        final Region range = placement.regions().find(address);
        if (range == null) {
            return new ForeignAddressException(address, "it was never allocated here: " + arena.info);
        }
        final int chunk = placement.chunkContaining(range, address);
        final long start = placement.address(range, chunk);
        if (placement.isLive(chunk)) {
            return new InteriorAddressException(
                    address,
                    "it lies " + (address - start) + " bytes inside a live allocation of "
                            + Granules.toBytes(placement.granules(range, chunk)) + " bytes at 0x"
                            + Long.toHexString(start) + " of " + arena.info);
        }
        return Granules.isWhole(address - range.base())
                ? new DoubleFreeException(address, "it was freed already; it lies in free memory of " + arena.info)
                : new ForeignAddressException(
                        address, "it was never allocated; it lies in free memory of " + arena.info);
    }

    /** Compares all tables with one another. Under the arena's lock. */
    void requireConsistent() {
        final ConsistencyCheck check = ConsistencyCheck.of(placement);
        final PageGrowth.Unfinished unfinished = arena.growth.unfinished();
        final long inUse = arena.counters.inUse();
        ConsistencyCheck.expect(inUse == check.inUseBytes() - unfinished.bytes(), "bytes in use", inUse);
        final long requested = arena.counters.requested();
        ConsistencyCheck.expect(
                requested == check.requestedBytes() - unfinished.requested(), "requested bytes", requested);
        final long held = arena.counters.held();
        ConsistencyCheck.expect(held == arena.table.pages() * arena.pageBytes, "bytes held", held);
        arena.table.check();
    }
}
