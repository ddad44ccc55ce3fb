package allocator.provider.support;

import allocator.spi.ForeignAddressException;
import allocator.spi.InteriorAddressException;
import allocator.spi.InvalidFreeException;
import allocator.spi.MemoryInfo;
import java.util.Map;

/** Diagnoses a free of an address at which no live block starts. */
public final class InvalidFrees {
    private InvalidFrees() {}

    /**
     * Returns the exception for such a free. An address that was freed before is indistinguishable from one that was
     * never allocated, and is reported as foreign.
     *
     * @param live the live blocks
     * @param address the address to free
     * @param info the memory that the allocator serves, for the message
     * @return an {@link InteriorAddressException} if the address lies inside a live block, else a
     *     {@link ForeignAddressException}
     */
    public static InvalidFreeException diagnose(LiveSizes live, long address, MemoryInfo info) {
        final Map.Entry<Long, Long> block = live.containing(address);
        if (block == null) {
            return new ForeignAddressException(address, "not a live block of " + info);
        }
        return new InteriorAddressException(
                address,
                (address - block.getKey()) + " bytes into the block of " + block.getValue() + " bytes at 0x"
                        + Long.toHexString(block.getKey()) + " of " + info);
    }
}
