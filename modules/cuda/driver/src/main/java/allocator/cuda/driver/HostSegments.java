package allocator.cuda.driver;

import java.lang.foreign.MemorySegment;

/** Segments of host memory that the driver allocated. */
public final class HostSegments {
    private HostSegments() {}

    /**
     * Returns a segment of host memory. Callers need no native access of their own.
     *
     * @param address address of the first byte, which the host must be able to access
     * @param byteSize size in bytes
     * @return the segment; the caller must not use it after the memory is freed
     */
    @SuppressWarnings("restricted") // memory of the driver has no other way into a segment
    public static MemorySegment at(long address, long byteSize) {
        return MemorySegment.ofAddress(address).reinterpret(byteSize);
    }
}
