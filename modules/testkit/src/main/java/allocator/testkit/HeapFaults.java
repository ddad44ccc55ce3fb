package allocator.testkit;

import java.lang.reflect.InvocationTargetException;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * An end of the Java heap at an allocation of one's choice. {@link #run} loads the code under test again, with a call
 * of {@link #allocating} before each of its allocations; it takes no JVM and no heap of its own, and a millisecond for
 * each end.
 */
public final class HeapFaults {
    private static @Nullable Thread armed;
    private static long left;
    private static boolean isForGood;
    private static boolean isReached;
    private static long ends;

    private HeapFaults() {}

    /**
     * Runs a program whose other classes fail for want of heap where {@link HeapEnds} says so.
     *
     * @param program has the method {@code main}; its own classes and those of this package do not fail
     * @param arguments of the program
     * @return how many allocations have failed, together with later ones or alone
     * @throws AssertionError if the program throws anything
     */
    public static synchronized long run(Class<?> program, String... arguments) {
        final long before = ends;
        try {
            final ClassLoader loader = new HeapFaultsLoader(List.of(program, HeapFaults.class));
            final Class<?> loaded = loader.loadClass(program.getName());
            final var main = loaded.getDeclaredMethod("main", String[].class);
            main.setAccessible(true);
            main.invoke(null, (Object) arguments);
            return ends - before;
        } catch (InvocationTargetException e) {
            throw new AssertionError(e.getCause());
        } catch (ReflectiveOperationException e) {
            throw new LinkageError(program.getName(), e);
        }
    }

    /** Called by code under test that is about to allocate; not for use by others. */
    public static void allocating() {
        if (Thread.currentThread().equals(armed) && (left == 0 || --left == 0)) {
            isReached = true;
            if (!isForGood) {
                armed = null;
            }
            throw new OutOfMemoryError("planted");
        }
    }

    /** Makes an allocation of this thread fail, from 1, or all from that one on. */
    public static void arm(long number, boolean forGood) {
        left = number;
        isForGood = forGood;
        isReached = false;
        armed = Thread.currentThread();
    }

    /** Lets every allocation succeed; returns whether one has failed. */
    public static boolean disarm() {
        armed = null;
        ends += isReached ? 1 : 0;
        return isReached;
    }
}
