package allocator.provider.support;

/**
 * Ensures that the calling thread has stack left for work that must not end half way.
 *
 * <p>A thread's stack may end at any call, with a {@link StackOverflowError} that leaves a lock locked or a table torn
 * if it is thrown between two changes. Code that calls {@link #touch} first, and changes state afterwards with a few
 * dozen shallow calls, has its stack overflow before the first change, where nothing is lost.
 */
public final class StackReserve {
    /** More than 16 KiB of stack, compiled or interpreted: some hundred frames of short methods. */
    private static final int DEPTH = 256;

    /** More than 1.5 KiB of stack: a dozen frames of short methods. */
    private static final int SHALLOW_DEPTH = 24;

    /** About half a KiB of stack. */
    private static final int BRIEF_DEPTH = 8;

    private StackReserve() {}

    /**
     * Touches 16 KiB of the stack, in about a third of a microsecond.
     *
     * @throws StackOverflowError if the thread has less than that left; call before the first change
     */
    public static void touch() {
        touch(DEPTH);
    }

    /**
     * Touches 1.5 KiB of the stack, in a tenth of the time of {@link #touch}: enough for work of a few short calls that
     * make no deep ones, on a path where {@code touch} would cost too much.
     *
     * @throws StackOverflowError if the thread has less than that left; call before the first change
     */
    public static void touchShallow() {
        touch(SHALLOW_DEPTH);
    }

    /**
     * Touches half a KiB of the stack, in a few nanoseconds: enough for a lock and an entry in a table.
     *
     * @throws StackOverflowError if the thread has less than that left; call before the first change
     */
    public static void touchBriefly() {
        touch(BRIEF_DEPTH);
    }

    private static void touch(int depth) {
        if (deep(depth, 1, 2, 3, 4, 5, 6, 7) == 0) {
            throw new StackOverflowError();
        }
    }

    /** Recurses with eight words that each frame needs again after its call. */
    private static long deep(int depth, long a, long b, long c, long d, long e, long f, long g) {
        if (depth == 0) {
            return a + b + c + d + e + f + g;
        }
        return deep(depth - 1, b, c, d, e, f, g, a) + a * b + c * d + e * f + g;
    }
}
