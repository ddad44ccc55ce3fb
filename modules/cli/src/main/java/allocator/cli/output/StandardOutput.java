package allocator.cli.output;

import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import org.jspecify.annotations.Nullable;

/** Standard output, which remembers why it could not be written; the writers above it only remember that. */
public final class StandardOutput extends FilterOutputStream {
    private @Nullable IOException failure;
    /**
     * Wraps standard output.
     *
     * @param out where the bytes go
     */
    public StandardOutput(OutputStream out) {
        super(out);
    }

    /** {@return the first failure, {@code null} if there was none} */
    @Nullable
    public IOException failure() {
        return failure;
    }

    @Override
    public void write(int b) throws IOException {
        write(new byte[] {(byte) b}, 0, 1);
    }

    @Override
    public void write(byte[] bytes, int from, int length) throws IOException {
        try {
            out.write(bytes, from, length);
        } catch (IOException e) {
            failure = failure == null ? e : failure;
            throw e;
        }
    }
}
