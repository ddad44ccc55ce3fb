package allocator.resource;

import allocator.spi.DeviceType;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryType;

/** The kind of a resource's memory: whether host and device can access it. */
public enum MemoryKind {
    /** Device memory that only the device can access. */
    DEVICE(false, true),
    /** Managed memory: host and device access it at one address, and its pages migrate to where they are used. */
    UNIFIED(true, true),
    /** Page-locked host memory that the device can access too. */
    PINNED(true, true),
    /** Host memory that only the host can access. */
    HOST(true, false);

    private final boolean isHostAccessible;
    private final boolean isDeviceAccessible;

    MemoryKind(boolean isHostAccessible, boolean isDeviceAccessible) {
        this.isHostAccessible = isHostAccessible;
        this.isDeviceAccessible = isDeviceAccessible;
    }

    /** {@return whether the host can read and write this memory} */
    public boolean isHostAccessible() {
        return isHostAccessible;
    }

    /** {@return whether work on the device can read and write this memory} */
    public boolean isDeviceAccessible() {
        return isDeviceAccessible;
    }

    /**
     * {@return whether this kind may replace another: host and device can access this memory wherever they can access
     * the other}
     *
     * @param other the kind to replace
     */
    public boolean canReplace(MemoryKind other) {
        return (isHostAccessible || !other.isHostAccessible) && (isDeviceAccessible || !other.isDeviceAccessible);
    }

    /**
     * {@return the kind of an allocator's memory: {@link #PINNED} for host-accessible memory, {@link #HOST} for other
     * memory of a CPU, {@link #DEVICE} otherwise} A {@link MemoryInfo} does not distinguish unified from pinned memory.
     *
     * @param memory the allocator's memory
     */
    public static MemoryKind of(MemoryInfo memory) {
        if (memory.memoryType() == MemoryType.HOST_ACCESSIBLE) {
            return PINNED;
        }
        return memory.deviceType() == DeviceType.CPU ? HOST : DEVICE;
    }
}
