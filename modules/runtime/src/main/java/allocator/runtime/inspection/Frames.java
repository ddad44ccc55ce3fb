package allocator.runtime.inspection;

import java.util.Set;
import java.util.function.Function;
import java.util.stream.Stream;

/**
 * Finds the frames of the program in a stack that ends in the runtime, or in a module above it.
 *
 * @param doors the classes one of which each request and each free of a program passes through
 * @param between the packages between a door and the program, besides those of the runtime
 */
public record Frames(Set<String> doors, Set<String> between) {
    private static final String OWN = "allocator.runtime.";

    /** Those of a program that uses a session or an environment. */
    public static final Frames OF_RUNTIME = new Frames(Set.of(OWN + "ManagedAllocator"), Set.of());

    /** Copies the sets. */
    public Frames {
        doors = Set.copyOf(doors);
        between = Set.copyOf(between);
    }

    /** Leaves out what a door has called, the door, and what is between. */
    <T> Stream<T> ofProgram(Stream<T> stack, Function<T, String> className) {
        return stack.dropWhile(frame -> !doors.contains(className.apply(frame)))
                .dropWhile(frame -> isBetween(className.apply(frame)));
    }

    private boolean isBetween(String className) {
        final int end = className.lastIndexOf('.');
        return className.startsWith(OWN) || (end > 0 && between.contains(className.substring(0, end)));
    }

    /** Returns a frame as in a stack trace, without its module and class loader. */
    static String text(StackTraceElement frame) {
        final String file = frame.getFileName();
        return frame.getClassName() + "." + frame.getMethodName() + "("
                + (file == null ? "unknown source" : file)
                + (frame.getLineNumber() < 0 ? "" : ":" + frame.getLineNumber()) + ")";
    }
}
