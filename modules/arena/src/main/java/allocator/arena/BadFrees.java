package allocator.arena;

import allocator.spi.DoubleFreeException;
import allocator.spi.ForeignAddressException;
import allocator.spi.InteriorAddressException;
import allocator.spi.InvalidFreeException;
import allocator.spi.MemoryInfo;
import java.util.Map;

/** Tells what is wrong with an address that is not the start of a live allocation. */
final class BadFrees {
    private BadFrees() {}

    /** For an address in a region. */
    static InvalidFreeException inRegion(Placement placement, Region region, long address, MemoryInfo info) {
        final long offset = address - region.base;
        final int chunk = placement.containing(region, Units.floor(offset));
        final long start = placement.address(chunk);
        final String where =
                Units.toBytes(placement.units(chunk)) + " bytes at 0x" + Long.toHexString(start) + " of " + info;
        if (placement.chunks.isLive(chunk)) {
            return new InteriorAddressException(
                    address, "it lies " + (address - start) + " bytes inside a live allocation of " + where);
        }
        return Units.isWhole(offset)
                ? new DoubleFreeException(address, "it is free already, in " + where)
                : new ForeignAddressException(address, "it was never handed out; it lies in free memory, " + where);
    }

    /** For an address in no region. */
    static InvalidFreeException outsideRegions(Blocks reserves, long address, MemoryInfo info) {
        final Map.Entry<Long, Long> reserve = reserves.containing(address);
        return reserve == null
                ? new ForeignAddressException(address, "it is not of " + info)
                : new InteriorAddressException(
                        address,
                        "it lies " + (address - reserve.getKey()) + " bytes inside a reserve of " + reserve.getValue()
                                + " bytes of " + info);
    }
}
