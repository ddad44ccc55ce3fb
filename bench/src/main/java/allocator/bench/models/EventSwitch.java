package allocator.bench.models;

import allocator.provider.support.event.AllocatorEvents;
import java.util.List;
import jdk.jfr.Recording;

/** Switches the events of allocations and frees of this process on and off. */
final class EventSwitch implements AutoCloseable {
    private static final int REMEMBERED = 4096;
    private static final long MOST_BYTES = 64 << 20;
    private static final List<String> NAMES = List.of("allocator.Allocation", "allocator.Free");

    private final Recording recording = new Recording();
    private RecordedEvents current = RecordedEvents.NONE;

    EventSwitch() {
        AllocatorEvents.prepare();
        recording.setMaxSize(MOST_BYTES);
        recording.start();
    }

    void set(RecordedEvents next) {
        leave();
        current = next;
        switch (next) {
            case NONE -> {}
            case RING -> AllocatorEvents.remember(REMEMBERED);
            case FLIGHT -> NAMES.forEach(name -> recording.enable(name).withoutStackTrace());
            case FLIGHT_STACKS -> NAMES.forEach(name -> recording.enable(name).withStackTrace());
        }
    }

    private void leave() {
        switch (current) {
            case NONE -> {}
            case RING -> AllocatorEvents.forget();
            case FLIGHT, FLIGHT_STACKS -> NAMES.forEach(recording::disable);
        }
        current = RecordedEvents.NONE;
    }

    @Override
    public void close() {
        leave();
        recording.close();
    }
}
