package allocator.cuda.driver;

/** The access that a device has to memory. */
public enum MemoryAccess {
    /** Nothing. */
    NONE(0),
    /** Read. */
    READ(1),
    /** Read and write. */
    READ_WRITE(3);

    private final int code;

    MemoryAccess(int code) {
        this.code = code;
    }

    /** {@return CUDA's number for the access, a {@code CUmemAccess_flags}} */
    public int code() {
        return code;
    }
}
