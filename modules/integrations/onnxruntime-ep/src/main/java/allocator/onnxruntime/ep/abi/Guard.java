package allocator.onnxruntime.ep.abi;

import allocator.onnxruntime.support.Upcalls;
import allocator.spi.InvalidOptionException;
import allocator.spi.UnsupportedMemoryException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.ArrayDeque;
import java.util.Deque;
import org.jspecify.annotations.Nullable;

/**
 * What every callback of ONNX Runtime goes through: finds the Java object of a struct, runs the work, and catches
 * whatever it throws, since the JVM ends the process if an upcall throws. A failure becomes a status where the callback
 * returns one, and goes to the object's {@link FailureSink}.
 */
public final class Guard {
    /** The work of a callback. */
    public interface Action<T> {
        /** Does the work. */
        void run(T target) throws Exception;
    }

    /** The work of a callback that returns a value. */
    public interface Query<T> {
        /** Returns the value. */
        long get(T target) throws Exception;
    }

    private static final Logger LOG = System.getLogger("allocator.onnxruntime.ep");

    private static final int SPARE_STATUSES = 256;
    private static final String SPARE_MESSAGE = "the Java heap or the stack has ended in a callback of java.allocator";

    /** The C string of a status that is made without heap. */
    private static final MemorySegment SPARE_TEXT = Arena.global().allocateFrom(SPARE_MESSAGE);

    /** Made beforehand, for a callback without stack to make one. Guards itself. */
    private static final Deque<Long> SPARES = new ArrayDeque<>(SPARE_STATUSES);

    private static final FailureSink LOG_ONLY = (callback, cause) -> {
        LOG.log(Level.ERROR, "callback {0} failed: {1}", callback, cause);
        return callback + ": " + cause;
    };

    private Guard() {}

    /** Made once the outer class is initialized: otherwise the first call would need heap to find out whether it is. */
    private static final class WithoutHeap {
        static final MethodHandle STATUS = handle();

        private static MethodHandle handle() {
            try {
                return MethodHandles.lookup()
                        .findStatic(Guard.class, "statusWithoutHeap", MethodType.methodType(long.class));
            } catch (ReflectiveOperationException e) {
                throw new LinkageError("statusWithoutHeap", e);
            }
        }
    }

    /**
     * Makes a function for native code that returns a status, also if the heap ends where the method makes the action
     * that it passes to {@link #status}.
     *
     * @param lookup of the class that has the method
     * @param name the method's name
     * @param parameters how many {@code long}s it takes
     */
    public static MemorySegment statusStub(MethodHandles.Lookup lookup, String name, int parameters) {
        return Upcalls.stub(lookup, name, parameters, WithoutHeap.STATUS);
    }

    /** Runs a callback that returns a status; returns the null status if the work does not throw. */
    public static <T extends Hosted> long status(
            NativeObjects<T> objects, long struct, String callback, Action<T> action) {
        FailureSink sink = LOG_ONLY;
        try {
            final T target = require(objects, struct);
            sink = target.failures();
            action.run(target);
            return 0;
        } catch (Throwable e) {
            return status(sink, callback, e);
        }
    }

    /** Runs a callback that returns nothing; a failure is only reported. Returns 0, which native code does not read. */
    public static <T extends Hosted> long run(
            NativeObjects<T> objects, long struct, String callback, Action<T> action) {
        return value(objects, struct, callback, 0, target -> {
            action.run(target);
            return 0;
        });
    }

    /** Runs a callback that returns a value other than a status; returns {@code otherwise} if the work throws. */
    public static <T extends Hosted> long value(
            NativeObjects<T> objects, long struct, String callback, long otherwise, Query<T> query) {
        FailureSink sink = LOG_ONLY;
        try {
            final T target = require(objects, struct);
            sink = target.failures();
            return query.get(target);
        } catch (Throwable e) {
            final String ignored = report(sink, callback, e);
            return otherwise;
        }
    }

    private static <T> T require(NativeObjects<T> objects, long struct) {
        final T target = objects.get(struct);
        if (target == null) {
            throw new IllegalStateException("called on 0x" + Long.toHexString(struct) + ", which was released");
        }
        return target;
    }

    /** Makes the status of a failure, and reports it. Never throws. */
    public static long status(FailureSink sink, String callback, Throwable cause) {
        final String message = report(sink, callback, cause);
        try {
            fillSpares();
            return EpApi.get().newStatus(code(cause), message);
        } catch (Throwable e) {
            return statusWithoutHeap();
        }
    }

    private static long statusWithoutHeap() {
        try {
            return EpApi.get().newStatus(EpStructs.EP_FAIL, SPARE_TEXT.address());
        } catch (Throwable e) {
            return spare();
        }
    }

    private static String report(FailureSink sink, String callback, Throwable cause) {
        try {
            return sink.report(callback, cause);
        } catch (Throwable e) {
            return SPARE_MESSAGE;
        }
    }

    private static int code(Throwable cause) {
        return cause instanceof InvalidOptionException
                        || cause instanceof UnsupportedMemoryException
                        || cause instanceof IllegalArgumentException
                ? EpStructs.INVALID_ARGUMENT
                : EpStructs.EP_FAIL;
    }

    /** Makes the statuses that a callback without heap or stack returns. */
    public static void fillSpares() {
        synchronized (SPARES) {
            while (SPARES.size() < SPARE_STATUSES) {
                // Which also links what statusWithoutHeap calls.
                SPARES.addLast(EpApi.get().newStatus(EpStructs.EP_FAIL, SPARE_TEXT.address()));
            }
        }
    }

    private static long spare() {
        final @Nullable Long status;
        synchronized (SPARES) {
            status = SPARES.pollFirst();
        }
        return status == null ? 0 : status;
    }
}
