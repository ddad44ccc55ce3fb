package allocator.arena;

import allocator.arena.chunk.Granules;
import allocator.arena.chunk.Placement;
import allocator.arena.chunk.Region;
import allocator.spi.DoubleFreeException;
import allocator.spi.ForeignAddressException;
import allocator.spi.InteriorAddressException;
import allocator.spi.InvalidFreeException;
import allocator.spi.MemoryInfo;

/** Diagnoses a free of an address in a region at which no live chunk starts. */
final class ChunkFrees {
    private ChunkFrees() {}

    /** Returns the exception for such an address. */
    static InvalidFreeException diagnose(Placement placement, Region region, long address, MemoryInfo info) {
        final int chunk = placement.chunkContaining(region, address);
        final long start = placement.address(region, chunk);
        final String where = Granules.toBytes(placement.granules(region, chunk)) + " bytes at 0x"
                + Long.toHexString(start) + " of " + info;
        if (placement.isLive(chunk)) {
            return new InteriorAddressException(
                    address, "it lies " + (address - start) + " bytes inside a live allocation of " + where);
        }
        return Granules.isWhole(address - region.base())
                ? new DoubleFreeException(address, "it was freed already; it lies in a free chunk of " + where)
                : new ForeignAddressException(address, "it was never allocated; it lies in a free chunk of " + where);
    }
}
