package allocator.resource.tracked;

import allocator.spi.SyncStream;
import java.util.concurrent.atomic.AtomicInteger;

/** A reference-counted event, held by several blocks. The last release destroys it. */
final class SharedEvent {
    private final StreamEvents events;
    private final SyncStream stream;
    private final long event;
    private final AtomicInteger references;

    /** Records an event behind all work submitted to a stream so far, for a number of holders. */
    SharedEvent(StreamEvents events, SyncStream stream, int references) {
        this.events = events;
        this.stream = stream;
        this.references = new AtomicInteger(references);
        this.event = events.record(stream); // last: nothing that fails follows it
    }

    boolean isOn(SyncStream other) {
        return stream.id() == other.id();
    }

    SharedEvent retain() {
        references.incrementAndGet();
        return this;
    }

    void release() {
        if (references.decrementAndGet() == 0) {
            events.release(event);
        }
    }

    void await(SyncStream waiting) {
        events.await(waiting, event);
    }

    /** Returns whether the work before this event is complete, as all work of a stream is that has ended. */
    boolean isDone() {
        return stream.hasEnded() || events.isDone(event);
    }
}
