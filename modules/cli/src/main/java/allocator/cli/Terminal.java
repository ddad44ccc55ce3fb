package allocator.cli;

import java.io.PrintWriter;
import java.nio.charset.Charset;
import java.nio.charset.CharsetEncoder;
import java.nio.charset.StandardCharsets;
import java.util.Set;

/**
 * Where a command writes: results, and progress and errors on standard error.
 *
 * <p>Java cannot detect whether standard error is a terminal, so the launcher reports it in the system property
 * {@value #PROPERTY}: {@code out}, {@code err} or {@code out,err}. Without the property neither is a terminal.
 */
final class Terminal {
    /** The names of the streams that are terminals. */
    static final String PROPERTY = "allocator.terminal";

    private final PrintWriter out;
    private final PrintWriter err;
    private final boolean hasColour;
    private final boolean isErrTerminal;
    private final boolean hasUnicode;

    private Terminal(PrintWriter out, PrintWriter err, Set<String> terminals, boolean mayColour, Charset charset) {
        this.out = out;
        this.err = err;
        hasColour = mayColour && terminals.contains("out");
        isErrTerminal = terminals.contains("err");
        final CharsetEncoder encoder = charset.newEncoder();
        hasUnicode = encoder.canEncode('█') && encoder.canEncode('µ');
    }

    /** Returns the streams of the process. */
    static Terminal ofProcess() {
        final String noColour = System.getenv("NO_COLOR");
        return new Terminal(
                new PrintWriter(System.out, false, System.out.charset()),
                new PrintWriter(System.err, true, System.err.charset()),
                Set.of(System.getProperty(PROPERTY, "").split(",")),
                (noColour == null || noColour.isEmpty()) && !"dumb".equals(System.getenv("TERM")),
                System.err.charset());
    }

    /** Returns streams of which none is a terminal. */
    static Terminal of(PrintWriter out, PrintWriter err) {
        return new Terminal(out, err, Set.of(), false, StandardCharsets.UTF_8);
    }

    PrintWriter out() {
        return out;
    }

    PrintWriter err() {
        return err;
    }

    boolean hasColour() {
        return hasColour;
    }

    /** Returns whether a line on standard error can be overwritten. */
    boolean isErrTerminal() {
        return isErrTerminal;
    }

    boolean hasUnicode() {
        return hasUnicode;
    }

    /** Returns a text as a heading. */
    String bold(String text) {
        return hasColour ? "\u001b[1m" + text + "\u001b[0m" : text;
    }

    /** Returns a text that is less important than its surroundings. */
    String dim(String text) {
        return hasColour ? "\u001b[2m" + text + "\u001b[0m" : text;
    }
}
