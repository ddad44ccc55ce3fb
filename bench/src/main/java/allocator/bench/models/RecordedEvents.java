package allocator.bench.models;

import allocator.provider.support.event.AllocatorEvents;
import java.util.List;
import jdk.jfr.Recording;

/** Records the events of allocations and frees of this process from now on. */
public final class RecordedEvents {
    private static final int REMEMBERED = 4096;
    private static final long MOST_BYTES = 64 << 20;
    private static final List<String> NAMES = List.of("allocator.Allocation", "allocator.Free");

    private RecordedEvents() {}

    /**
     * Begins to record.
     *
     * @param where {@code none}; {@code ring}, the latest events, as {@code memory.history} does; or {@code flight} and
     *     {@code flight-stacks}, the flight recorder without and with stack traces
     * @throws IllegalArgumentException if it is none of them
     */
    public static void record(String where) {
        switch (where) {
            case "none" -> {}
            case "ring" -> {
                AllocatorEvents.prepare();
                AllocatorEvents.remember(REMEMBERED);
            }
            case "flight", "flight-stacks" -> {
                AllocatorEvents.prepare();
                final Recording recording = new Recording();
                recording.setMaxSize(MOST_BYTES);
                for (final String name : NAMES) {
                    if (where.equals("flight")) {
                        recording.enable(name).withoutStackTrace();
                    } else {
                        recording.enable(name).withStackTrace();
                    }
                }
                recording.start();
            }
            default -> throw new IllegalArgumentException("no events are called '" + where + "'");
        }
    }
}
