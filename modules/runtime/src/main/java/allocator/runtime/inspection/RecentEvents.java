package allocator.runtime.inspection;

import allocator.provider.support.event.AllocatorEvents;
import allocator.provider.support.event.RecentEvent;
import allocator.runtime.snapshot.Snapshot.Event;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** The recent events of the process, as a snapshot lists them. */
public final class RecentEvents {
    private RecentEvents() {}

    /** Returns the events, the oldest first; none if they are not remembered. */
    public static List<Event> list() {
        return AllocatorEvents.recent().stream().map(RecentEvents::event).toList();
    }

    private static Event event(RecentEvent recent) {
        return new Event(
                switch (recent.kind()) {
                    case ALLOCATION -> Event.Kind.ALLOCATION;
                    case FREE -> Event.Kind.FREE;
                    case GROWTH -> Event.Kind.GROWTH;
                    case SHRINK -> Event.Kind.SHRINK;
                    case FAILURE -> Event.Kind.FAILURE;
                },
                TimeUnit.NANOSECONDS.toMicros(recent.nanosAgo()),
                recent.owner(),
                recent.memory().name(),
                recent.memory().deviceOrdinal(),
                recent.address(),
                recent.byteSize(),
                recent.stream());
    }
}
