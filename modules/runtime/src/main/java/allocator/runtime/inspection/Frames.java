package allocator.runtime.inspection;

import java.util.function.Function;
import java.util.stream.Stream;

/** The frames of the program that has called the runtime. */
final class Frames {
    private static final String RUNTIME = "allocator.runtime.";

    /** Every request and every free of a program passes through it. */
    private static final String DOOR = RUNTIME + "ManagedAllocator";

    private Frames() {}

    /** Leaves out what the runtime has called, and the runtime itself. */
    static <T> Stream<T> ofProgram(Stream<T> stack, Function<T, String> className) {
        return stack.dropWhile(frame -> !className.apply(frame).equals(DOOR))
                .dropWhile(frame -> className.apply(frame).startsWith(RUNTIME));
    }

    /** Returns a frame as in a stack trace, without its module and class loader. */
    static String text(StackTraceElement frame) {
        final String file = frame.getFileName();
        return frame.getClassName() + "." + frame.getMethodName() + "("
                + (file == null ? "unknown source" : file)
                + (frame.getLineNumber() < 0 ? "" : ":" + frame.getLineNumber()) + ")";
    }
}
