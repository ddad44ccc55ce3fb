package allocator.testkit;

import java.util.function.Supplier;

/**
 * Makes a call once for each of its allocations, which fails as it does where the Java heap ends. For programs that
 * {@link HeapFaults#run} runs.
 */
public final class HeapEnds {
    /** What is called where the heap ends. */
    public interface Subject {
        /** Makes the call. */
        void call();

        /** Checks with heap enough what the call has left that returned, or in which the heap ended. */
        void verify(boolean isDone);
    }

    private HeapEnds() {}

    /** Calls a new subject for each allocation that fails, alone or with all that follow, and has it checked. */
    public static void each(String name, Supplier<? extends Subject> maker) {
        final Subject first = maker.get();
        first.call(); // initializes classes
        first.verify(true);
        for (final boolean isForGood : new boolean[] {false, true}) {
            int number = 1;
            while (isReached(name, maker.get(), number, isForGood)) {
                number++;
            }
        }
    }

    private static boolean isReached(String name, Subject subject, int number, boolean isForGood) {
        boolean isDone = false;
        boolean isReached = false;
        try {
            try {
                HeapFaults.arm(number, isForGood);
                subject.call();
                isDone = true;
            } catch (OutOfMemoryError e) {
                // As planted.
            } finally {
                isReached = HeapFaults.disarm();
            }
            subject.verify(isDone);
        } catch (Throwable e) {
            throw new AssertionError(
                    "allocation " + number + " of " + name + " failed" + (isForGood ? " with all later ones" : "")
                            + ", and the call " + (isDone ? "returned" : "did not"),
                    e);
        }
        return isReached;
    }
}
