package allocator.bench.models;

/** Which events are recorded, and where. */
enum RecordedEvents {
    NONE("none"),
    RING("the latest 4,096 (`memory.history`)"),
    FLIGHT("flight recorder, without stack traces"),
    FLIGHT_STACKS("flight recorder, with stack traces");

    private final String text;

    RecordedEvents(String text) {
        this.text = text;
    }

    /** Returns what a table says. */
    String text() {
        return text;
    }
}
