package allocator.runtime.discovery;

import java.util.Objects;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Describes exceptions in one line. */
public final class Causes {
    /** Causes may form a cycle. */
    private static final int MAX_CAUSES = 16;

    private Causes() {}

    /**
     * Describes an exception and its causes.
     *
     * @param thrown the exception
     * @return one line, unless a message has several
     */
    public static String describe(Throwable thrown) {
        return Stream.iterate(thrown, Objects::nonNull, Throwable::getCause)
                .limit(MAX_CAUSES)
                .map(Throwable::toString)
                .collect(Collectors.joining("; caused by "));
    }
}
