package allocator.bench.held;

import allocator.bench.subject.Slots;
import allocator.bench.subject.Subject;
import allocator.bench.subject.SubjectType;
import allocator.trace.Trace;
import java.util.Arrays;

/**
 * What lived and what an allocator held in the course of one replay of a trace, from an empty allocator on. All events
 * are on one stream, and no memory is touched.
 */
final class TraceCourse {
    private static final int PARTS = 120;

    private final SubjectType subject;
    private final double[] events;
    private final double[] liveBytes;
    private final double[] heldBytes;

    private TraceCourse(SubjectType subject, int parts) {
        this.subject = subject;
        events = new double[parts];
        liveBytes = new double[parts];
        heldBytes = new double[parts];
    }

    /** Replays a trace. */
    static TraceCourse of(SubjectType type, Trace trace) {
        final int count = trace.eventCount();
        final int length = Math.max(1, (count + PARTS - 1) / PARTS);
        final int parts = (count + length - 1) / length;
        final TraceCourse course = new TraceCourse(type, parts);
        try (Subject subject = type.open()) {
            final Slots slots = subject.slots(trace.slotCount());
            final boolean[] isLive = new boolean[trace.slotCount()];
            long live = 0;
            for (int part = 0; part < parts; part++) {
                final int end = Math.min(count, (part + 1) * length);
                for (int event = part * length; event < end; event++) {
                    final int slot = trace.slot(event);
                    isLive[slot] = trace.isAllocation(event);
                    if (isLive[slot]) {
                        slots.alloc(slot, Math.toIntExact(trace.byteSize(event)));
                        live += trace.byteSize(event);
                        course.liveBytes[part] = Math.max(course.liveBytes[part], (double) live);
                    } else {
                        slots.free(slot);
                        live -= trace.byteSize(event);
                    }
                }
                course.events[part] = end;
                course.liveBytes[part] = Math.max(course.liveBytes[part], (double) live);
                course.heldBytes[part] = (double) subject.bytesHeld().orElseThrow();
            }
            for (int slot = 0; slot < isLive.length; slot++) {
                if (isLive[slot]) {
                    slots.free(slot);
                }
            }
        }
        return course;
    }

    /** Returns the allocator. */
    SubjectType subject() {
        return subject;
    }

    /** Returns the number of the last event of each part of the trace. */
    double[] events() {
        return events.clone();
    }

    /** Returns the most bytes that lived at once in each part, as requested. */
    double[] liveBytes() {
        return liveBytes.clone();
    }

    /** Returns the bytes held at the end of each part. */
    double[] heldBytes() {
        return heldBytes.clone();
    }

    /** Returns the most that was held at the end of a part, over the most that lived. */
    double heldOverLive() {
        return peakHeldBytes() / peakLiveBytes();
    }

    double peakHeldBytes() {
        return Arrays.stream(heldBytes).max().orElse(0);
    }

    double peakLiveBytes() {
        return Arrays.stream(liveBytes).max().orElse(0);
    }
}
