package allocator.view.recording;

import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The blocks that are live at a moment of a recording. */
final class LiveRecorded {
    private final Map<BlockEvent.Place, BlockEvent> blocks = new HashMap<>();

    /** Applies an event, and returns the block that it ends; {@code null} if there is none. */
    @Nullable
    BlockEvent apply(BlockEvent event) {
        // An allocation at the address of a live block: the recording lacks the free.
        return event.isFree() ? blocks.remove(event.place()) : blocks.put(event.place(), event);
    }

    Iterable<BlockEvent> all() {
        return blocks.values();
    }
}
