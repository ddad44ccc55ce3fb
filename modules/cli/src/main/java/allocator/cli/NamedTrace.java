package allocator.cli;

import allocator.cli.output.Sizes;
import allocator.cli.output.Terminal;
import allocator.trace.Trace;
import allocator.trace.TraceException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;

/** Reads the trace that an argument names: a file, or one of the bundled traces. */
final class NamedTrace {
    private NamedTrace() {}

    /**
     * Reads a trace.
     *
     * @throws UsageException if there is no such trace
     * @throws CommandException if it cannot be read, or is none
     */
    static Trace read(String name, Terminal terminal) {
        try {
            final Trace trace = load(name);
            if (name.endsWith(".part")) {
                terminal.err()
                        .println("allocator: warning: " + name + ": is unfinished, as its writer has ended: the "
                                + Sizes.count(trace.eventCount(), "event") + " whose lines are whole are read");
            }
            return trace;
        } catch (TraceException e) {
            if (e.line() == 1 && e.reason().contains("'Thread,Time,Action,")) {
                throw new CommandException(
                        e.trace() + ": is a log of RMM: allocator trace import makes a trace of it", e);
            }
            throw e.line() == 0 && !Files.isRegularFile(Path.of(name))
                    ? new UsageException(e.getMessage(), e)
                    : new CommandException(e.getMessage(), e);
        }
    }

    private static Trace load(String name) throws TraceException {
        if (name.isEmpty()) {
            throw new UsageException("the name of a trace is empty");
        }
        try {
            final Path file = Path.of(name);
            if (!Files.exists(file)) {
                if (Trace.bundledNames().contains(name)) {
                    return Trace.bundled(name);
                }
                throw new UsageException(name + ": no such file, and no bundled trace ("
                        + String.join(", ", Trace.bundledNames()) + ")");
            }
            ForeignFile.reject(file);
            return Trace.read(file);
        } catch (InvalidPathException e) {
            throw new UsageException(name + ": " + e.getReason(), e);
        }
    }
}
