package allocator.cuda.driver;

import java.lang.foreign.MemorySegment;

/** Host memory at an address, as the JVM sees it. */
public final class HostSegments {
    private HostSegments() {}

    /**
     * Sees host memory as a segment. Here, so that this module alone needs native access.
     *
     * @param address first byte, of memory that the host can reach
     * @param byteSize size in bytes
     * @return the segment; the caller sees to it that it is not used longer than the memory lives
     */
    @SuppressWarnings("restricted") // memory of the driver has no other way into a segment
    public static MemorySegment at(long address, long byteSize) {
        return MemorySegment.ofAddress(address).reinterpret(byteSize);
    }
}
