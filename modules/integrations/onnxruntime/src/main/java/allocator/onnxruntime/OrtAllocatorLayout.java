package allocator.onnxruntime;

/**
 * The struct {@code OrtAllocator}: its version, and then pointers to functions. Offsets in bytes. A member is there
 * from a version on; the struct of an older allocator is shorter, so that reading beyond its version reads what is not
 * its own.
 */
final class OrtAllocatorLayout {
    static final int VERSION = 0;
    static final int ALLOC = 8;
    static final int FREE = 16;
    static final int INFO = 24;
    static final int RESERVE = 32;
    static final int GET_STATS = 40;
    static final int ALLOC_ON_STREAM = 48;
    static final int SHRINK = 56;
    static final int BYTE_SIZE = 64;

    private OrtAllocatorLayout() {}
}
