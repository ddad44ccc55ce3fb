package allocator.resource.tracked;

import allocator.spi.SyncStream;
import java.util.List;

/**
 * What an open use of a block has to wait for.
 *
 * @param events events to wait for, each retained for the caller
 * @param streamsWithoutEvent streams with uses that have no event: wait for all work submitted to them so far
 */
record Waits(List<SharedEvent> events, List<SyncStream> streamsWithoutEvent) {
    static final Waits NONE = new Waits(List.of(), List.of());

    boolean isNone() {
        return events.isEmpty() && streamsWithoutEvent.isEmpty();
    }
}
