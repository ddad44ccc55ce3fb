package allocator.conformance.runner.output;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.Writer;

/**
 * Writes text of any origin to what may be a terminal: characters that would control it become escapes such as
 * {@code \u001b}. Line breaks and tabs stay. Names of files, providers and devices are such text.
 */
public final class PlainWriter extends Writer {
    private final Writer out;

    /** Whether the last character was a carriage return; a line feed after it makes it a line break. */
    private boolean hasReturn;

    private PlainWriter(Writer out) {
        this.out = out;
    }

    /**
     * {@return a writer without a buffer of its own; flushing and closing it does the same to {@code out}}
     *
     * @param out receives the text
     * @param isFlushedByLine whether each printed line flushes it
     */
    public static PrintWriter over(PrintWriter out, boolean isFlushedByLine) {
        return new PrintWriter(new PlainWriter(out), isFlushedByLine);
    }

    /**
     * {@return a text as it appears, on one line: with its control characters and line breaks escaped}
     *
     * @param text any text
     */
    public static String oneLine(String text) {
        final StringBuilder shown = new StringBuilder();
        for (int i = 0; i < text.length(); i++) {
            append(shown, text.charAt(i));
        }
        return shown.toString();
    }

    private static void append(StringBuilder shown, char c) {
        if (controls(c)) {
            shown.append(String.format("\\u%04x", (int) c));
        } else {
            shown.append(c);
        }
    }

    /** Returns whether a character moves the cursor, changes the terminal, or turns the direction of text around it. */
    private static boolean controls(char c) {
        return Character.isISOControl(c)
                || c == '\u2028'
                || c == '\u2029'
                || c == '\u061c'
                || (c >= '\u200e' && c <= '\u200f')
                || (c >= '\u202a' && c <= '\u202e')
                || (c >= '\u2066' && c <= '\u2069');
    }

    @Override
    public void write(char[] text, int from, int length) throws IOException {
        final StringBuilder shown = new StringBuilder(length + 8);
        for (int i = from; i < from + length; i++) {
            final char c = text[i];
            if (hasReturn) {
                hasReturn = false;
                if (c == '\n') {
                    shown.append("\r\n");
                    continue;
                }
                append(shown, '\r');
            }
            if (c == '\r') {
                hasReturn = true;
            } else if (c == '\n' || c == '\t') {
                shown.append(c);
            } else {
                append(shown, c);
            }
        }
        out.append(shown);
    }

    @Override
    public void flush() throws IOException {
        if (hasReturn) {
            hasReturn = false;
            out.append("\\u000d");
        }
        out.flush();
    }

    @Override
    public void close() throws IOException {
        flush();
        out.close();
    }
}
