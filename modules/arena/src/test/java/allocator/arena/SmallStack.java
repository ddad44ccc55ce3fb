package allocator.arena;

import java.util.Arrays;
import java.util.Random;
import java.util.function.Consumer;

/** A thread with a small stack, and calls at every distance from the end of that stack. */
public final class SmallStack {
    private static final long BYTES = 256 << 10;
    private static final long MOST_MILLIS = 120_000;
    private static final int TOO_DEEP = 1 << 20;

    /** An exception is caught not far from where it is thrown: a frame takes a microsecond to leave by one. */
    private static final int FRAMES_BELOW_CATCH = 16;

    /** How many calls are made between two looks at how deep the stack is, which changes as code is compiled. */
    private static final int CALLS_PER_LOOK = 100;

    private final Random random = new Random(7);
    private int left;
    private int deepest;
    private int calls;
    private int overflows;
    private Throwable thrown;

    static {
        // If the stack ends while a class is initialized, its JVM has lost the class. Large maps need this one.
        try {
            Class.forName("java.util.HashMap$TreeNode");
        } catch (ClassNotFoundException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private SmallStack() {}

    /** Runs work on a thread with a small stack. Fails if it throws anything, or takes more than two minutes. */
    public static void run(Consumer<SmallStack> work) {
        final Throwable[] failure = new Throwable[1];
        final Thread thread = new Thread(
                null,
                () -> {
                    try {
                        work.accept(new SmallStack());
                    } catch (Throwable e) {
                        failure[0] = e;
                    }
                },
                "small stack",
                BYTES);
        thread.setDaemon(true);
        thread.start();
        try {
            thread.join(MOST_MILLIS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError("interrupted", e);
        }
        if (thread.isAlive()) {
            throw new AssertionError("hangs at " + Arrays.toString(thread.getStackTrace()));
        }
        if (failure[0] != null) {
            throw new AssertionError(failure[0]);
        }
    }

    /**
     * Calls so deep in the stack that little of it is left, most often very little.
     *
     * @param bits the binary logarithm of the most frames that are left, at least 3; a frame takes from 16 bytes,
     *     compiled, to a hundred, interpreted
     * @param call the call
     * @return whether it returned; {@code false} if the stack ended in it
     */
    public boolean callNearEnd(int bits, Runnable call) {
        if (calls % CALLS_PER_LOOK == 0) {
            deepest = depth();
        }
        return callAt(deepest + 2 - random.nextInt(1 << random.nextInt(2, bits)), call);
    }

    /**
     * Calls below a number of frames, and throws what the call throws but for the end of the stack.
     *
     * @param depth frames, none if negative
     * @param call the call
     * @return whether it returned; {@code false} if the stack ended in it
     */
    public boolean callAt(int depth, Runnable call) {
        calls++;
        thrown = null;
        final int below = Math.clamp(depth, 0, FRAMES_BELOW_CATCH);
        try {
            descend(Math.max(depth, 0) - below, () -> {
                try {
                    descend(below, call);
                } catch (Throwable e) {
                    thrown = e;
                }
            });
        } catch (StackOverflowError e) {
            thrown = e;
        }
        if (thrown instanceof StackOverflowError) {
            overflows++;
            return false;
        }
        if (thrown != null) {
            SmallStack.<RuntimeException>sneak(thrown);
        }
        return true;
    }

    @SuppressWarnings({"unchecked", "DoNotCallSuggester"}) // the cast does nothing at run time
    private static <T extends Throwable> void sneak(Throwable thrown) throws T {
        throw (T) thrown;
    }

    /** Returns how many frames deep this thread can call. */
    public int depth() {
        try {
            descend(TOO_DEEP, () -> {});
        } catch (StackOverflowError e) {
            // The end of the stack.
        }
        return TOO_DEEP - left;
    }

    private void descend(int frames, Runnable call) {
        left = frames;
        if (frames == 0) {
            call.run();
        } else {
            descend(frames - 1, call);
        }
    }

    /** Returns the number of calls in which the stack ended. */
    public int overflows() {
        return overflows;
    }

    /** Returns the number of calls that returned or threw something else. */
    public int completed() {
        return calls - overflows;
    }
}
