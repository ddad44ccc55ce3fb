package allocator.testkit;

import java.util.ArrayList;
import java.util.List;

/** Calls that are made with little Java heap left. For programs in a JVM of their own, with a heap of 20 MiB or so. */
public final class SmallHeap {
    private static final int MOST_LEFT = 200_000;
    private static final int STEP = 1500;
    private static final int LARGEST = 1 << 20;
    private static final int LEAST = 32;

    /** Each size that does not fit any more costs two collections of the heap, which take most of the time. */
    private static final int SMALLER = 32;

    /** A call that succeeds has all it needs; more heap may let it do what it can do without, such as a log. */
    private static final int ENOUGH_SUCCESSES = 40;

    private static final int MOST_PIECES = 20_000;
    private static final byte[] NOTHING = {};

    /** Has its table before the heap is full. */
    private static final List<byte[]> BALLAST = new ArrayList<>(MOST_PIECES);

    private SmallHeap() {}

    /**
     * Makes a call with almost no heap, with a little more, and so on, until it has succeeded forty times in a row or
     * had 200 KB. An {@link OutOfMemoryError} is caught.
     */
    public static void call(Runnable call) {
        int successes = 0;
        for (int left = LEAST; left < MOST_LEFT && successes < ENOUGH_SUCCESSES; left += STEP) {
            fillBut(left);
            try {
                call.run();
                successes++;
            } catch (OutOfMemoryError e) {
                successes = 0; // there is more heap the next time
            } finally {
                BALLAST.clear();
            }
        }
    }

    /** Fills the heap but for some bytes. */
    private static void fillBut(int left) {
        BALLAST.add(new byte[left]);
        for (int size = LARGEST; size >= LEAST && BALLAST.size() < MOST_PIECES; ) {
            try {
                BALLAST.add(new byte[size]);
            } catch (OutOfMemoryError e) {
                size /= SMALLER;
            }
        }
        BALLAST.set(0, NOTHING);
    }
}
