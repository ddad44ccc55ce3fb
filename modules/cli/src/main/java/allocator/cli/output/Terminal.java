package allocator.cli.output;

import allocator.conformance.runner.output.PlainWriter;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.charset.Charset;
import java.nio.charset.CharsetEncoder;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Where a command writes: results, and progress and errors on standard error. Text of any origin may be printed:
 * characters that would control the terminal are escaped.
 *
 * <p>Java cannot detect whether standard error is a terminal, so the launcher reports it in the system property
 * {@value #PROPERTY}: {@code out}, {@code err} or {@code out,err}. Without the property neither is a terminal.
 */
public final class Terminal {
    /** The names of the streams that are terminals. */
    public static final String PROPERTY = "allocator.terminal";

    /** The streams themselves, for help and for what controls the terminal. */
    private final PrintWriter rawOut;

    private final PrintWriter rawErr;

    private final PrintWriter out;
    private final PrintWriter err;
    private final @Nullable StandardOutput standardOutput;
    private final boolean hasColour;
    private final boolean isErrTerminal;
    private final boolean hasUnicode;

    private Terminal(
            PrintWriter out,
            PrintWriter err,
            @Nullable StandardOutput standardOutput,
            Set<String> terminals,
            boolean mayColour,
            Charset charset) {
        rawOut = out;
        rawErr = err;
        this.out = PlainWriter.over(out, false);
        this.err = PlainWriter.over(err, true);
        this.standardOutput = standardOutput;
        hasColour = mayColour && terminals.contains("out");
        isErrTerminal = terminals.contains("err");
        final CharsetEncoder encoder = charset.newEncoder();
        hasUnicode = encoder.canEncode('█') && encoder.canEncode('µ');
    }

    /** {@return the streams of the process} */
    public static Terminal ofProcess() {
        final String noColour = System.getenv("NO_COLOR");
        final StandardOutput output = new StandardOutput(new FileOutputStream(FileDescriptor.out));
        return new Terminal(
                new PrintWriter(output, false, System.out.charset()),
                new PrintWriter(System.err, true, System.err.charset()),
                output,
                Set.of(System.getProperty(PROPERTY, "").split(",")),
                (noColour == null || noColour.isEmpty()) && !"dumb".equals(System.getenv("TERM")),
                System.err.charset());
    }

    /** {@return streams of which none is a terminal} */
    public static Terminal of(PrintWriter out, PrintWriter err) {
        return new Terminal(out, err, null, Set.of(), false, StandardCharsets.UTF_8);
    }

    /** {@return the writer of results, which escapes characters that control a terminal} */
    public PrintWriter out() {
        return out;
    }

    /** {@return the writer of errors, which escapes characters that control a terminal} */
    public PrintWriter err() {
        return err;
    }

    /** {@return a writer of results that escapes nothing, for text that is the program's own} */
    public PrintWriter rawOut() {
        return rawOut;
    }

    /** {@return a writer of errors that escapes nothing, for text that is the program's own} */
    public PrintWriter rawErr() {
        return rawErr;
    }

    /** {@return in words why results were lost, empty if none were, after a flush of both streams} */
    public Optional<String> flush() {
        out.flush();
        err.flush();
        if (!rawOut.checkError()) {
            return Optional.empty();
        }
        final IOException failure = standardOutput == null ? null : standardOutput.failure();
        return Optional.of(failure == null || failure.getMessage() == null ? "an error" : failure.getMessage());
    }
    /** {@return whether results may have colours: it is a terminal that shows them, and they are wanted} */
    public boolean hasColour() {
        return hasColour;
    }

    /** {@return whether standard error is a terminal, a line of which can be overwritten} */
    public boolean isErrTerminal() {
        return isErrTerminal;
    }
    /** {@return whether standard error shows characters beyond ASCII} */
    public boolean hasUnicode() {
        return hasUnicode;
    }

    /** Prints a line of results whose first part is a heading. */
    public void printHeading(String heading, String rest) {
        style("\u001b[1m", PlainWriter.oneLine(heading));
        out.println(PlainWriter.oneLine(rest));
    }

    /** Prints a line of results that is less important than its surroundings. */
    public void printDim(String line) {
        style("\u001b[2m", PlainWriter.oneLine(line));
        out.println();
    }

    /**
     * Prints a table whose first row, the headings, is less important than the others.
     *
     * @param table the table, with a row or more
     */
    public void printTable(TextTable table) {
        final List<String> lines = table.lines();
        printDim(lines.getFirst());
        lines.subList(1, lines.size()).forEach(out::println);
    }

    private void style(String code, String text) {
        rawOut.print(hasColour ? code + text + "\u001b[0m" : text);
    }
}
