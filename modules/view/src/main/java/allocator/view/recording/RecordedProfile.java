package allocator.view.recording;

import allocator.view.TraceProfile;
import allocator.view.TraceProfile.Point;
import allocator.view.recording.RecordingReader.HeldEvent;
import java.util.ArrayList;
import java.util.List;

/**
 * What was requested and held over the events of a recording.
 *
 * @param profile the profile
 * @param peakEvent the event at which the most bytes are requested
 * @param peakBlock its index among the allocations and frees; -1 if there are none
 */
record RecordedProfile(TraceProfile profile, int peakEvent, int peakBlock) {
    private static final int MOST_POINTS = 4_000;

    /** The sums after each event, in order of time. */
    private static final class Course {
        private final long[] requested;
        private final long[] held;
        private int events;
        private int peakEvent;
        private int peakBlock = -1;

        Course(int most) {
            requested = new long[most];
            held = new long[most];
        }

        void add(long requestedNow, long heldNow) {
            requested[events] = requestedNow;
            held[events] = heldNow;
            events++;
        }
    }

    static RecordedProfile of(List<BlockEvent> blocks, List<HeldEvent> changes, int failures) {
        final Course course = course(blocks, changes);
        final int events = course.events;
        final long before = heldBefore(course);
        final List<Point> points = new ArrayList<>();
        final int count = Math.min(MOST_POINTS, events);
        long peakRequested = 0;
        long peakHeld = 0;
        for (int span = 0; span < count; span++) {
            final int from = (int) ((long) span * events / count);
            final int to = (int) ((span + 1L) * events / count);
            int highest = from;
            long least = Long.MAX_VALUE;
            for (int i = from; i < to; i++) {
                if (isHigher(course, i, highest)) {
                    highest = i;
                }
                least = Math.min(least, course.requested[i]);
                peakHeld = Math.max(peakHeld, course.held[i] + before);
            }
            final long requested = course.requested[highest];
            final long held = course.held[highest] + before;
            peakRequested = Math.max(peakRequested, requested);
            points.add(new Point(highest, least, requested, requested, held, held - requested, 0));
        }
        final TraceProfile profile = new TraceProfile(
                "recorded", false, events, points, List.of(), peakRequested, peakRequested, peakHeld, failures);
        return new RecordedProfile(profile, course.peakEvent, course.peakBlock);
    }

    private static boolean isHigher(Course course, int event, int than) {
        return course.requested[event] > course.requested[than]
                || (course.requested[event] == course.requested[than] && course.held[event] > course.held[than]);
    }

    private static Course course(List<BlockEvent> blocks, List<HeldEvent> changes) {
        final Course course = new Course(Math.addExact(blocks.size(), changes.size()));
        final LiveRecorded live = new LiveRecorded();
        long requested = 0;
        long held = 0;
        long most = -1;
        int change = 0;
        for (int block = 0; block < blocks.size(); block++) {
            final BlockEvent event = blocks.get(block);
            while (change < changes.size() && changes.get(change).nanos() <= event.nanos()) {
                held = Math.addExact(held, changes.get(change++).bytes());
                course.add(requested, held);
            }
            final BlockEvent ended = live.apply(event);
            requested -= ended == null ? 0 : ended.byteSize();
            requested = Math.addExact(requested, event.isFree() ? 0 : event.byteSize());
            if (requested > most) {
                most = requested;
                course.peakEvent = course.events;
                course.peakBlock = block;
            }
            course.add(requested, held);
        }
        while (change < changes.size()) {
            held = Math.addExact(held, changes.get(change++).bytes());
            course.add(requested, held);
        }
        return course;
    }

    /** Returns the least that must have been held before, as what is requested is part of what is held. */
    private static long heldBefore(Course course) {
        long before = 0;
        for (int i = 0; i < course.events; i++) {
            before = Math.max(before, Math.subtractExact(course.requested[i], course.held[i]));
        }
        return before;
    }
}
