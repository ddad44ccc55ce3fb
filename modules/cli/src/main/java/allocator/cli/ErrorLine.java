package allocator.cli;

import org.jspecify.annotations.Nullable;

/** Describes failures in one line. */
final class ErrorLine {
    private static final String MORE_HEAP = "(JDK_JAVA_OPTIONS=-Xmx8g makes it 8 GiB)";

    private ErrorLine() {}

    /** Describes what was thrown. An exception with a message is described by it; others are named as well. */
    static String of(Throwable thrown) {
        if (thrown instanceof CommandException
                && thrown.getCause() != null
                && isHeap(thrown.getCause().getCause())) {
            return text(thrown) + " " + MORE_HEAP;
        }
        if (thrown instanceof CommandException || thrown instanceof picocli.CommandLine.ParameterException) {
            return text(thrown);
        }
        if (isHeap(thrown)) {
            return "the Java heap is too small " + MORE_HEAP;
        }
        return thrown.getMessage() == null ? text(thrown) : thrown.getClass().getSimpleName() + ": " + text(thrown);
    }

    /** Returns whether the Java heap is full; other limits, such as that of threads, are not helped by a larger one. */
    private static boolean isHeap(@Nullable Throwable thrown) {
        return thrown instanceof OutOfMemoryError
                && (text(thrown).contains("Java heap space")
                        || text(thrown).contains("GC overhead limit")
                        || text(thrown).contains("Required length exceeds")
                        || text(thrown).contains("Requested array size"));
    }

    /** Returns the message of what was thrown, or its class, on one line. */
    static String text(Throwable thrown) {
        final String message = thrown.getMessage() == null ? thrown.getClass().getName() : thrown.getMessage();
        return message.strip().replaceAll("\\s*\\R\\s*", "; ");
    }
}
