package allocator.cuda.driver;

/** An attribute of a memory pool. */
public enum PoolAttribute {
    /** Flag: memory freed on another stream may be reused where events already order it; initially on. */
    REUSE_FOLLOW_EVENT_DEPENDENCIES(1, false, true),
    /** Flag: memory freed on another stream may be reused if the free has taken effect; initially on. */
    REUSE_ALLOW_OPPORTUNISTIC(2, false, true),
    /** Flag: the driver may make a stream wait for another one to reuse memory freed there; initially on. */
    REUSE_ALLOW_INTERNAL_DEPENDENCIES(3, false, true),
    /** Reserved bytes that the pool retains when a stream, event or context is synchronized; initially {@code 0}. */
    RELEASE_THRESHOLD(4, true, true),
    /** Bytes that the pool has reserved from the device. */
    RESERVED_MEM_CURRENT(5, true, false),
    /** Highest number of bytes reserved since this mark was set to {@code 0}. */
    RESERVED_MEM_HIGH(6, true, true),
    /** Bytes allocated from the pool. */
    USED_MEM_CURRENT(7, true, false),
    /** Highest number of bytes allocated since this mark was set to {@code 0}. */
    USED_MEM_HIGH(8, true, true);

    private final int code;
    private final boolean isLong;
    private final boolean isSettable;

    PoolAttribute(int code, boolean isLong, boolean isSettable) {
        this.code = code;
        this.isLong = isLong;
        this.isSettable = isSettable;
    }

    /** {@return CUDA's number for the attribute, a {@code CUmemPool_attribute}} */
    public int code() {
        return code;
    }

    /** {@return whether the value is a number of bytes (64 bits), not a flag (32 bits)} */
    public boolean isByteSize() {
        return isLong;
    }

    /** {@return whether the attribute can be set: false for the driver's counters} */
    public boolean isSettable() {
        return isSettable;
    }
}
