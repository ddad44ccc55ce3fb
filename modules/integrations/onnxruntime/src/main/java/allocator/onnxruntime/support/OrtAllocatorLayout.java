package allocator.onnxruntime.support;

/**
 * The struct {@code OrtAllocator}: its version, and then pointers to functions. Offsets in bytes. A member is there
 * from a version on; the struct of an older allocator is shorter, so that reading beyond its version reads what is not
 * its own.
 */
public final class OrtAllocatorLayout {
    public static final int VERSION = 0;
    public static final int ALLOC = 8;
    public static final int FREE = 16;
    public static final int INFO = 24;
    public static final int RESERVE = 32;
    public static final int GET_STATS = 40;
    public static final int ALLOC_ON_STREAM = 48;
    public static final int SHRINK = 56;
    public static final int BYTE_SIZE = 64;

    private OrtAllocatorLayout() {}
}
