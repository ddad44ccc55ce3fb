package allocator.bench.report;

import java.util.List;

/** What a process that failed has written to its standard error. */
public final class ProcessLog {
    private ProcessLog() {}

    /**
     * Finds the cause of a failure in all that was written: the last cause of a stack trace, or else the exception, or
     * else the last line.
     */
    public static String cause(String log) {
        final List<String> lines = log.lines().filter(line -> !line.isBlank()).toList();
        return lines.stream()
                .filter(line -> line.startsWith("Caused by: "))
                .reduce((first, second) -> second)
                .map(line -> line.substring("Caused by: ".length()))
                .or(() -> lines.stream()
                        .filter(line -> line.startsWith("Exception in thread"))
                        .findFirst())
                .or(() -> lines.stream().reduce((first, second) -> second))
                .orElse("it says nothing");
    }
}
