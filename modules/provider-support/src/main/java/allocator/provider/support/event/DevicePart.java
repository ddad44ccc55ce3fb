package allocator.provider.support.event;

/** What a {@link DeviceCall} takes from a device or returns to it. */
public enum DevicePart {
    /** A region, which is divided into chunks or filled with blocks. */
    REGION("region"),
    /** A reserve, outside the regions. */
    RESERVE("reserve"),
    /** Pages, which are mapped where they are needed. */
    PAGES("pages"),
    /** Free memory of a pool of the device's own. */
    POOL("pool"),
    /** What an arena holds when it is closed: regions and reserves. */
    CLOSED("close"),
    /** Memory that was just taken and is of no use. */
    UNUSED("unused");

    final String text;

    DevicePart(String text) {
        this.text = text;
    }
}
