package allocator.provider.support.event;

/** What a {@link DeviceCall} takes from a device or returns to it. */
public enum DevicePart {
    /** A region, which is divided into chunks or filled with blocks. */
    REGION,
    /** A reserve, outside the regions. */
    RESERVE,
    /** Pages, which are mapped where they are needed. */
    PAGES,
    /** Free memory of a pool of the device's own. */
    POOL,
    /** What an arena holds when it is closed: regions and reserves. */
    CLOSE,
    /** Memory that was just taken and is of no use. */
    UNUSED
}
