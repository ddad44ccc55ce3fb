package allocator.provider.support.internal;

import allocator.spi.MemoryInfo;
import allocator.spi.MemoryLocation;
import allocator.spi.SyncStream;

/** The check that a stream is one of a memory's device, by their locations (F-10). */
public final class SameDevice {
    private SameDevice() {}

    /**
     * Checks that a stream is one of a memory's device.
     *
     * @param stream the stream
     * @param memory the memory
     * @throws IllegalArgumentException if it is one of another device
     */
    public static void require(SyncStream stream, MemoryInfo memory) {
        final MemoryLocation theirs = stream.memory().location();
        final MemoryLocation ours = memory.location();
        if (theirs.deviceType() != ours.deviceType()
                || theirs.vendorId() != ours.vendorId()
                || theirs.deviceOrdinal() != ours.deviceOrdinal()) {
            throw new IllegalArgumentException(
                    stream + " is a stream of another device and cannot order memory of " + memory);
        }
    }
}
