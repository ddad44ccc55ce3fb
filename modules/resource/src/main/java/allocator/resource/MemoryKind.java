package allocator.resource;

import allocator.spi.DeviceType;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryType;

/** What kind of memory a resource hands out, told by who can reach it. */
public enum MemoryKind {
    /** Memory of a device that only the device can reach. */
    DEVICE(false, true),
    /** Memory that host and device see at one address; its pages move to where they are used. */
    UNIFIED(true, true),
    /** Page-locked host memory that the device can reach as well. */
    PINNED(true, true),
    /** Host memory that only the host can reach. */
    HOST(true, false);

    private final boolean isHostAccessible;
    private final boolean isDeviceAccessible;

    MemoryKind(boolean isHostAccessible, boolean isDeviceAccessible) {
        this.isHostAccessible = isHostAccessible;
        this.isDeviceAccessible = isDeviceAccessible;
    }

    /**
     * Whether the host can read and write it.
     *
     * @return whether it can
     */
    public boolean isHostAccessible() {
        return isHostAccessible;
    }

    /**
     * Whether work on the device can read and write it.
     *
     * @return whether it can
     */
    public boolean isDeviceAccessible() {
        return isDeviceAccessible;
    }

    /**
     * Whether whoever can reach memory of the other kind can reach this one too, so that this may stand in for it.
     *
     * @param other the kind to stand in for
     * @return whether it may
     */
    public boolean canStandInFor(MemoryKind other) {
        return (isHostAccessible || !other.isHostAccessible) && (isDeviceAccessible || !other.isDeviceAccessible);
    }

    /**
     * The kind of an allocator's memory. The contract of allocators does not tell unified memory from pinned.
     *
     * @param memory what the allocator says of its memory
     * @return {@link #PINNED} for host-accessible memory, {@link #HOST} for a processor's own, {@link #DEVICE}
     *     otherwise
     */
    public static MemoryKind of(MemoryInfo memory) {
        if (memory.memoryType() == MemoryType.HOST_ACCESSIBLE) {
            return PINNED;
        }
        return memory.deviceType() == DeviceType.CPU ? HOST : DEVICE;
    }
}
