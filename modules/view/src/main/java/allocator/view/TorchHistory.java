package allocator.view;

import allocator.runtime.snapshot.Snapshot;
import allocator.runtime.snapshot.Snapshot.Event;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The recent events of a snapshot as PyTorch's viewer wants them: a free has the size of its block and two entries,
 * since only the second ends the block. A free whose allocation is not among the events is left out, and so are
 * failures.
 */
final class TorchHistory {
    private final Map<Integer, List<Entry>> byDevice = new HashMap<>();
    private final Map<Place, Event> live = new HashMap<>();

    /** An entry of a device's trace. */
    record Entry(String action, Event event, long address, long byteSize, long stream) {}

    private record Place(String memory, int device, long address) {}

    private TorchHistory() {}

    /** Returns the entries by device, the oldest first. */
    static Map<Integer, List<Entry>> of(Snapshot snapshot) {
        final TorchHistory history = new TorchHistory();
        snapshot.history().forEach(history::add);
        return history.byDevice;
    }

    private void add(Event event) {
        final Place place = new Place(event.memory(), event.device(), event.address());
        switch (event.kind()) {
            case ALLOCATION -> {
                end(live.put(place, event), event); // the free of the block before is missing
                add("alloc", event, event);
            }
            case FREE -> end(live.remove(place), event);
            case GROWTH -> add("segment_alloc", event, event);
            case SHRINK -> add("segment_free", event, event);
            case FAILURE -> {
                // The failure that the snapshot was taken for is written with its figures.
            }
        }
    }

    private void end(@Nullable Event block, Event by) {
        if (block != null) {
            add("free_requested", by, block);
            add("free_completed", by, block);
        }
    }

    private void add(String action, Event event, Event block) {
        byDevice.computeIfAbsent(Math.max(0, event.device()), _ -> new ArrayList<>())
                .add(new Entry(action, event, block.address(), block.byteSize(), block.streamId()));
    }
}
