package allocator.view.recording;

import java.io.IOException;
import org.jspecify.annotations.Nullable;

/**
 * Thrown when a file is not a recording of the flight recorder, is damaged, has no events of this project, or cannot be
 * read. The message names the file and the reason.
 */
public final class RecordingException extends IOException {
    private static final long serialVersionUID = 1L;

    RecordingException(String file, String reason, @Nullable Throwable cause) {
        super(file + ": " + reason, cause);
    }
}
