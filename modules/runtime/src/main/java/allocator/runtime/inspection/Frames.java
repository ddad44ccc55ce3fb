package allocator.runtime.inspection;

import java.util.List;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Stream;

/** The frames of the program that has called the runtime, or run a session of ONNX Runtime. */
final class Frames {
    private static final String RUNTIME = "allocator.runtime.";

    private static final String ONNX_RUNTIME = "allocator.onnxruntime.";

    /** Every request and every free of a program, and of ONNX Runtime, passes through one of them. */
    private static final Set<String> DOORS = Set.of(RUNTIME + "ManagedAllocator", ONNX_RUNTIME + "ExportedAllocator");

    /** The packages between a call of the program and a request of ONNX Runtime: its Java binding, and the module. */
    private static final List<String> BETWEEN = List.of("ai.onnxruntime.", ONNX_RUNTIME, ONNX_RUNTIME + "support.");

    private Frames() {}

    /** Leaves out what the runtime has called, and the runtime itself; so of ONNX Runtime. */
    static <T> Stream<T> ofProgram(Stream<T> stack, Function<T, String> className) {
        return stack.dropWhile(frame -> !DOORS.contains(className.apply(frame)))
                .dropWhile(frame -> isBetween(className.apply(frame)));
    }

    private static boolean isBetween(String className) {
        return className.startsWith(RUNTIME)
                || BETWEEN.contains(className.substring(0, className.lastIndexOf('.') + 1));
    }

    /** Returns a frame as in a stack trace, without its module and class loader. */
    static String text(StackTraceElement frame) {
        final String file = frame.getFileName();
        return frame.getClassName() + "." + frame.getMethodName() + "("
                + (file == null ? "unknown source" : file)
                + (frame.getLineNumber() < 0 ? "" : ":" + frame.getLineNumber()) + ")";
    }
}
