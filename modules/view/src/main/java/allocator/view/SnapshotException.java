package allocator.view;

import java.io.IOException;
import org.jspecify.annotations.Nullable;

/** Thrown when a file is not a snapshot, is damaged, or cannot be read. The message names the file and the reason. */
public final class SnapshotException extends IOException {
    private static final long serialVersionUID = 1L;

    SnapshotException(String file, String reason, @Nullable Throwable cause) {
        super(file + ": " + reason, cause);
    }
}
