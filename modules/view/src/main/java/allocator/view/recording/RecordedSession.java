package allocator.view.recording;

import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * A session in a recording.
 *
 * @param name its name
 * @param opened when it was opened; {@code null} if that was before the recording
 * @param closed when it was closed; {@code null} if it was not, or after the recording
 * @param liveBlocks how many of its blocks were live when it was closed
 */
public record RecordedSession(
        String name, @Nullable Instant opened, @Nullable Instant closed, long liveBlocks) {}
