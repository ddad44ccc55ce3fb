package allocator.cli.output;

import allocator.conformance.runner.output.PlainWriter;
import java.io.PrintWriter;
import java.util.concurrent.TimeUnit;

/**
 * A progress bar that overwrites its own line on standard error. It prints nothing if standard error is not a terminal,
 * or if the work ends at once. Not safe for use by several threads.
 */
public final class ProgressBar implements AutoCloseable {
    private static final int WIDTH = 24;

    /** A longer text would wrap on a terminal of 80 columns, and a wrapped line cannot be erased. */
    private static final int TEXT_WIDTH = 79 - WIDTH - " 100 %  ".length();

    private static final long FIRST_DRAWN_AFTER = TimeUnit.MILLISECONDS.toNanos(200);
    private static final long DRAWN_EVERY = TimeUnit.MILLISECONDS.toNanos(80);
    private static final String ERASE_LINE = "\r\u001b[K";

    private final boolean isShown;
    private final PrintWriter err;
    private final String filled;
    private final String empty;
    private long nextDrawing = System.nanoTime() + FIRST_DRAWN_AFTER;
    private boolean isDrawn;
    /** Makes a bar that is not drawn yet. */
    public ProgressBar(Terminal terminal) {
        isShown = terminal.isErrTerminal();
        err = terminal.rawErr();
        filled = terminal.hasUnicode() ? "█" : "#";
        empty = terminal.hasUnicode() ? "░" : ".";
    }

    /** Shows the fraction done, from 0 to 1, and the current step. */
    public void show(double done, String what) {
        if (!isShown || System.nanoTime() - nextDrawing < 0) {
            return;
        }
        nextDrawing = System.nanoTime() + DRAWN_EVERY;
        isDrawn = true;
        final int cells = (int) Math.round(WIDTH * Math.clamp(done, 0, 1));
        err.print(ERASE_LINE
                + filled.repeat(cells)
                + empty.repeat(WIDTH - cells)
                + String.format(" %3.0f %%  ", 100 * Math.clamp(done, 0, 1))
                + shorten(PlainWriter.oneLine(what)));
        err.flush();
    }

    private static String shorten(String text) {
        return text.substring(0, Math.min(text.length(), TEXT_WIDTH));
    }

    /** Clears the line. */
    @Override
    public void close() {
        if (isDrawn) {
            err.print(ERASE_LINE);
            err.flush();
            isDrawn = false;
        }
    }
}
