package allocator.arena.upstream;

import allocator.spi.DeviceException;
import allocator.spi.MemoryInfo;
import org.jspecify.annotations.Nullable;

/** Checks what an upstream allocator returned. */
public final class UpstreamAddress {
    private UpstreamAddress() {}

    /**
     * Returns what makes an address unusable; {@code null} if it is usable.
     *
     * @param info the upstream allocator's memory
     * @param address what it returned
     * @param byteSize what was requested of it, above zero
     * @return what to throw. If the address is {@code 0}, there is nothing to return to the upstream allocator
     */
    public static @Nullable DeviceException failure(MemoryInfo info, long address, long byteSize) {
        if (address == 0) {
            return new DeviceException(
                    "The allocator of " + info + " returned no memory for " + byteSize
                            + " bytes: only an allocation of 0 bytes has address 0 (A-02), and exhaustion is reported"
                            + " by OutOfMemoryException (A-05)",
                    null);
        }
        if ((address & (info.byteAlignment() - 1)) != 0) {
            return new DeviceException(
                    "The allocator of " + info + " returned 0x" + Long.toHexString(address)
                            + ", which is not aligned to " + info.byteAlignment() + " bytes (A-04)",
                    null);
        }
        return null;
    }
}
