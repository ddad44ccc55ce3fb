package allocator.bench;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;

/** What a command prints. */
public final class Console {
    private final ByteArrayOutputStream outBytes = new ByteArrayOutputStream();
    private final ByteArrayOutputStream errBytes = new ByteArrayOutputStream();
    private final PrintStream out = new PrintStream(outBytes, true, StandardCharsets.UTF_8);
    private final PrintStream err = new PrintStream(errBytes, true, StandardCharsets.UTF_8);

    public PrintStream out() {
        return out;
    }

    public PrintStream err() {
        return err;
    }

    public String output() {
        return outBytes.toString(StandardCharsets.UTF_8);
    }

    public String errors() {
        return errBytes.toString(StandardCharsets.UTF_8);
    }
}
