package allocator.spi;

import java.util.Objects;

/**
 * Two uses of the same memory that nothing orders, at least one of them a write, an allocation or a free. A device
 * would continue with undefined bytes. The call that threw has had no effect.
 *
 * <p>Both call sites are there: this exception's stack trace is that of the later use, and its {@linkplain #getCause
 * cause}, a {@link Site}, has that of the earlier one. The message names device, addresses, sizes, streams and the
 * first line of either call site that is not of this project, and what would order the two.
 *
 * <p>A simulated device always reports hazards. On any device an allocator whose settings include
 * {@code arena.check_streams} does, for the uses that pass through its provider.
 */
public final class StreamHazardException extends AllocatorException {
    private static final long serialVersionUID = 1L;

    /** What is wrong. */
    private final Kind kind;

    /** First byte of the later use. */
    private final long address;

    /** Size of the later use. */
    private final long byteSize;

    /** What is wrong with two uses of memory. */
    public enum Kind {
        /** Memory is used that another stream has allocated, before that allocation is complete. */
        USE_BEFORE_READY("use before ready"),
        /**
         * Memory is used while work of another stream uses it: a block that two streams use without order, or memory
         * that was reused too early.
         */
        REUSE_IN_FLIGHT("reuse in flight"),
        /** Memory is freed while work uses it. */
        FREE_IN_USE("free while in use"),
        /** Memory is used that is freed. */
        USE_AFTER_FREE("use after free");

        private final String words;

        Kind(String words) {
            this.words = words;
        }

        @Override
        public String toString() {
            return words;
        }
    }

    /** Where and by which thread an operation was submitted: its stack trace is that of the call. */
    public static final class Site extends Throwable {
        private static final long serialVersionUID = 1L;

        /** The operation. */
        private final String operation;

        /** Where it was submitted. */
        private final transient Object place;

        /** The name of the thread. */
        private final String thread;

        /**
         * Captures the call site of this constructor.
         *
         * @param operation the operation, such as {@code cuMemsetD8Async} or {@code free}
         * @param place where it is submitted, such as a stream; read when a message is made
         */
        public Site(String operation, Object place) {
            super(null, null, false, true);
            this.operation = Objects.requireNonNull(operation, "operation");
            this.place = Objects.requireNonNull(place, "place");
            thread = Thread.currentThread().getName();
        }

        /** {@return the name of the operation} */
        public String name() {
            return operation;
        }

        /** {@return the operation and where submitted, such as {@code cuMemsetD8Async on stream 3 of device 0}} */
        public String operation() {
            return operation + " on " + place;
        }

        /**
         * {@return the first line of the stack trace that is neither of this project nor of the JDK, such as
         * {@code com.example.Model.upload(Model.java:42)}; the first line if all are}
         */
        public String line() {
            final StackTraceElement[] frames = getStackTrace();
            for (StackTraceElement frame : frames) {
                final String name = frame.getClassName();
                if (!name.startsWith("allocator.") && !name.startsWith("java.") && !name.startsWith("jdk.")) {
                    return describe(frame);
                }
            }
            return frames.length == 0 ? "an unknown place" : describe(frames[0]);
        }

        private static String describe(StackTraceElement frame) {
            return "%s.%s(%s:%d)"
                    .formatted(frame.getClassName(), frame.getMethodName(), frame.getFileName(), frame.getLineNumber());
        }

        @Override
        public String getMessage() {
            return operation() + ", submitted by thread " + thread;
        }
    }

    /**
     * A use of memory.
     *
     * @param site where it was submitted
     * @param address its first byte
     * @param byteSize its number of bytes
     */
    public record Use(Site site, long address, long byteSize) {
        @Override
        public String toString() {
            return "%s of %d bytes at %#x (at %s)".formatted(site.operation(), byteSize, address, site.line());
        }
    }

    /**
     * Describes a hazard.
     *
     * @param kind what is wrong
     * @param device the device, such as {@code gpu:0}
     * @param later the use that is rejected; this exception gets its stack trace
     * @param earlier the use that it conflicts with
     * @param remedy what to do, a sentence
     */
    public StreamHazardException(Kind kind, String device, Use later, Use earlier, String remedy) {
        super(
                "%s on %s: %s, but %s is not ordered before it. %s".formatted(kind, device, later, earlier, remedy),
                earlier.site());
        this.kind = kind;
        address = later.address();
        byteSize = later.byteSize();
        setStackTrace(later.site().getStackTrace());
    }

    /** {@return the kind of what is wrong} */
    public Kind kind() {
        return kind;
    }

    /** {@return the address of the first byte of the later use} */
    public long address() {
        return address;
    }

    /** {@return the size of the later use in bytes} */
    public long byteSize() {
        return byteSize;
    }
}
