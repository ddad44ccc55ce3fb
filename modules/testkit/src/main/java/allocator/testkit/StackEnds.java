package allocator.testkit;

import java.util.function.Supplier;

/**
 * Makes a call once for each distance from the end of a thread's stack, from none to more than the call takes. In a JVM
 * that compiles as it sees fit, a frame's size changes from call to call, and distances are left out.
 */
public final class StackEnds {
    /** So many wide frames of {@link SmallStack} take about a frame more, if they are interpreted. */
    private static final int WIDE_PER_FRAME = 8;

    /** Where so many more frames are left than a call takes, it is not made again. */
    private static final int FRAMES_MORE = 10;

    /** What is called where the stack or the heap ends. */
    public interface Subject {
        /** Makes the call. */
        void call();

        /**
         * Checks what the call has left, with stack and heap enough.
         *
         * @param isDone whether it returned; {@code false} if the stack or the heap ended in it
         */
        void verify(boolean isDone);
    }

    private StackEnds() {}

    /**
     * Calls a new subject at each distance, and has it checked.
     *
     * @param stack where to call
     * @param name of the call, for messages
     * @param steps how many distances there are for each frame, from 1 to 8
     * @param maker makes the subject
     * @return the fewest frames that were left in a call that returned
     * @throws AssertionError if a check fails, or the stack ends in none of the calls
     */
    public static int each(SmallStack stack, String name, int steps, Supplier<? extends Subject> maker) {
        final Subject first = maker.get();
        stack.callAt(0, first::call); // initializes classes
        first.verify(true);
        final int before = stack.overflows();
        final int deepest = stack.depth();
        int fewest = Integer.MAX_VALUE;
        int done = 0;
        for (int left = -2; done < FRAMES_MORE * steps; left++) {
            for (int step = 1; step <= steps; step++) {
                final int wide = WIDE_PER_FRAME - step * WIDE_PER_FRAME / steps;
                final Subject subject = maker.get();
                final boolean isDone = stack.callAt(deepest - left, wide, subject::call);
                done = isDone ? done + 1 : 0;
                fewest = isDone ? Math.min(fewest, left) : fewest;
                try {
                    subject.verify(isDone);
                } catch (Throwable e) {
                    throw new AssertionError(
                            name + " with " + left + " frames left less " + 16 * wide + " bytes, which "
                                    + (isDone ? "returned" : "overflowed"),
                            e);
                }
            }
        }
        if (stack.overflows() == before) {
            throw new AssertionError("the stack did not end in " + name);
        }
        return fewest;
    }
}
