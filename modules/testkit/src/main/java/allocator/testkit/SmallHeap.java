package allocator.testkit;

import java.util.ArrayList;
import java.util.List;

/** Calls that are made with little Java heap left. For programs in a JVM of their own, with a heap of 20 MiB or so. */
public final class SmallHeap {
    private static final int MOST_LEFT = 200_000;
    private static final int STEP = 1500;
    private static final int LARGEST = 1 << 20;
    private static final int LEAST = 16;
    private static final int MOST_PIECES = 20_000;
    private static final byte[] NOTHING = {};

    /** Has its table before the heap is full. */
    private static final List<byte[]> BALLAST = new ArrayList<>(MOST_PIECES);

    private SmallHeap() {}

    /**
     * Makes a call with almost no heap, with a little more, and so on up to 200 KB.
     *
     * @param call what is called; an {@link OutOfMemoryError} is caught
     */
    public static void call(Runnable call) {
        for (int left = LEAST; left < MOST_LEFT; left += STEP) {
            fillBut(left);
            try {
                call.run();
            } catch (OutOfMemoryError e) {
                // There is more heap the next time.
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
                size /= 4;
            }
        }
        BALLAST.set(0, NOTHING);
    }
}
