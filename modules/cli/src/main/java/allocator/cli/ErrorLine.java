package allocator.cli;

/** Describes failures in one line. */
final class ErrorLine {
    private ErrorLine() {}

    /** Describes what was thrown. An exception with a message is described by it; others are named as well. */
    static String of(Throwable thrown) {
        if (thrown instanceof CommandException || thrown instanceof picocli.CommandLine.ParameterException) {
            return text(thrown);
        }
        if (thrown instanceof OutOfMemoryError && text(thrown).contains("Java heap space")) {
            return "the Java heap is too small (JDK_JAVA_OPTIONS=-Xmx8g makes it 8 GiB)";
        }
        return thrown.getMessage() == null ? text(thrown) : thrown.getClass().getSimpleName() + ": " + text(thrown);
    }

    /** Returns the message of what was thrown, or its class, on one line. */
    static String text(Throwable thrown) {
        final String message = thrown.getMessage() == null ? thrown.getClass().getName() : thrown.getMessage();
        return message.strip().replaceAll("\\s*\\R\\s*", "; ");
    }
}
