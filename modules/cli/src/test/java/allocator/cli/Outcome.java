package allocator.cli;

import allocator.cli.output.Terminal;
import java.io.PrintWriter;
import java.io.StringWriter;

/**
 * What a command did.
 *
 * @param exitCode its exit code
 * @param out what it wrote to standard output
 * @param err what it wrote to standard error
 */
record Outcome(int exitCode, String out, String err) {
    /** Runs the command in this JVM, without a terminal. */
    static Outcome of(String... args) {
        final StringWriter out = new StringWriter();
        final StringWriter err = new StringWriter();
        final int exitCode = Main.run(Terminal.of(new PrintWriter(out), new PrintWriter(err)), args);
        return new Outcome(exitCode, out.toString(), err.toString());
    }
}
