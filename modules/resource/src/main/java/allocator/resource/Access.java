package allocator.resource;

/** How work uses a block. */
public enum Access {
    /** It reads only; other reads may run at the same time. */
    READ,
    /** It writes, and may read as well; nothing else may run at the same time. */
    WRITE
}
