package allocator.arena;

import allocator.arena.chunk.Granules;
import allocator.arena.chunk.Placement;
import allocator.arena.chunk.Region;
import allocator.arena.upstream.SizesByAddress;
import allocator.spi.DoubleFreeException;
import allocator.spi.ForeignAddressException;
import allocator.spi.InteriorAddressException;
import allocator.spi.InvalidFreeException;
import allocator.spi.MemoryInfo;
import java.util.Map;

/** Diagnoses a free of an address that is not the start of a live allocation. */
final class InvalidFrees {
    private InvalidFrees() {}

    /** Returns the exception for an address in a region. */
    static InvalidFreeException inRegion(Placement placement, Region region, long address, MemoryInfo info) {
        final int chunk = placement.chunkContaining(region, address);
        final long start = placement.address(region, chunk);
        final String where = Granules.toBytes(placement.granules(region, chunk)) + " bytes at 0x"
                + Long.toHexString(start) + " of " + info;
        if (placement.isLive(chunk)) {
            return new InteriorAddressException(
                    address, "it lies " + (address - start) + " bytes inside a live allocation of " + where);
        }
        return Granules.isWhole(address - region.base())
                ? new DoubleFreeException(address, "it is free already, in " + where)
                : new ForeignAddressException(address, "it was never handed out; it lies in free memory, " + where);
    }

    /** Returns the exception for an address in no region. */
    static InvalidFreeException outsideRegions(SizesByAddress reserves, long address, MemoryInfo info) {
        final Map.Entry<Long, Long> reserve = reserves.containing(address);
        return reserve == null
                ? new ForeignAddressException(address, "it is not of " + info)
                : new InteriorAddressException(
                        address,
                        "it lies " + (address - reserve.getKey()) + " bytes inside a reserve of " + reserve.getValue()
                                + " bytes of " + info);
    }
}
