package allocator.spi;

/**
 * The levels of this contract. {@link Allocator#spiLevel()} is the level for which an allocator was written; the
 * runtime calls an operation only from the level that introduced it. The numbers are those of ONNX Runtime's
 * {@code OrtAllocator.version}, so that a provider ported from there keeps its number (rule L-01).
 */
public final class SpiLevel {
    /** The lowest level: {@link Allocator#alloc}, {@link Allocator#free} and {@link Allocator#info}. */
    public static final int MINIMUM = 1;

    /** From here on {@link Allocator#reserve} is called; below, {@link Allocator#alloc} instead. */
    public static final int RESERVE = 18;

    /** From here on {@link Allocator#stats} is called. */
    public static final int STATISTICS = 23;

    /** From here on {@link StreamAwareAllocator#allocOnStream} is called; below, {@link Allocator#alloc}. */
    public static final int STREAMS = 23;

    /** From here on {@link ShrinkableAllocator#shrink} is called and the allocator counts as an arena. */
    public static final int SHRINK = 25;

    /** The level of this version of the contract. */
    public static final int CURRENT = SHRINK;

    private SpiLevel() {}
}
