package allocator.bench.soak;

/** A kind of memory that a process takes. */
enum Source {
    /** Resident, after {@code malloc} has given back the free pages between blocks. */
    RESIDENT("resident", true),
    /** Blocks of {@code malloc} that are not freed, whether resident or not: ours and the JVM's own. */
    IN_USE("malloc in use", true),
    /** What lives on the Java heap. */
    JAVA_HEAP("Java heap", true),
    /** Compiled code and classes. Code is compiled for as long as the JVM works. */
    CODE("code, classes", false),
    /** What {@code malloc} kept of what was freed: the C library's choice. */
    KEPT("malloc free", false);

    private final String text;
    private final boolean isJudged;

    Source(String text, boolean isJudged) {
        this.text = text;
        this.isJudged = isJudged;
    }

    /** Whether it has to stay as it is. The others only show what grew. */
    boolean isJudged() {
        return isJudged;
    }

    @Override
    public String toString() {
        return text;
    }
}
