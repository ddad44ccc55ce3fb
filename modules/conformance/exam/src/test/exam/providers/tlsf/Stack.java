package exam.tlsf;

/** Has a stack that is about to end do so before anything is changed. */
final class Stack {
    private static final int DEPTH = 96;

    private Stack() {}

    /** Touches more stack than any call of this provider needs. */
    static void touch() {
        if (descend(DEPTH, 1, 2, 3, 4) == 0) {
            throw new IllegalStateException();
        }
    }

    private static long descend(int depth, long a, long b, long c, long d) {
        return depth == 0 ? a | b | c | d : descend(depth - 1, b, c, d, a | depth) | a;
    }
}
