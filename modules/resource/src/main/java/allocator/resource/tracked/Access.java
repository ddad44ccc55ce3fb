package allocator.resource.tracked;

/** How work accesses a block. */
public enum Access {
    /** Reads only. Other reads may run at the same time. */
    READ,
    /** Writes, and may read. No other use may run at the same time. */
    WRITE
}
