package allocator.testkit;

import allocator.spi.AllocatorType;
import allocator.spi.DeviceType;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryLocation;
import allocator.spi.MemoryType;

/** Infos and locations of made-up memories. */
public final class FakeMemory {
    private FakeMemory() {}

    /** Returns an info with an alignment of 256 bytes. */
    public static MemoryInfo memory(String name, DeviceType type, int ordinal, MemoryType memoryType) {
        return new MemoryInfo(name, new MemoryLocation(type, 0, ordinal, memoryType), 256, AllocatorType.DEVICE);
    }

    /** Returns the info of read-only memory, with an alignment of 256 bytes. */
    public static MemoryInfo readOnly(String name, DeviceType type, int ordinal) {
        return new MemoryInfo(name, location(type, ordinal), 256, AllocatorType.READ_ONLY);
    }

    /** Returns the location of a device's default memory. */
    public static MemoryLocation location(DeviceType type, int ordinal) {
        return new MemoryLocation(type, 0, ordinal, MemoryType.DEFAULT);
    }
}
