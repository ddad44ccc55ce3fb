package allocator.view;

import allocator.spi.AllocatorSnapshot;
import java.util.List;

/**
 * What a replay of a trace was observed to hold, over its events.
 *
 * <p>The trace is divided into spans of equal length. Of each span the event with the most requested bytes is observed,
 * so that no peak of what is requested is missed.
 *
 * @param policy the placement policy, or another name for the settings
 * @param isListed whether the allocator lists its chunks; if not, there are no free bytes and no moments
 * @param events events of the trace
 * @param points the observations, in order of events
 * @param moments the allocator's memory at some of the points
 * @param peakRequested the peak of the requested bytes, over all events
 * @param peakInUse the peak of the bytes in use, padding included, that the allocator counted
 * @param peakHeld the peak of the bytes held that the allocator counted
 * @param failures allocations that failed for lack of memory; their frees are left out
 */
public record TraceProfile(
        String policy,
        boolean isListed,
        int events,
        List<Point> points,
        List<Moment> moments,
        long peakRequested,
        long peakInUse,
        long peakHeld,
        int failures) {

    /** Copies the lists. */
    public TraceProfile {
        points = List.copyOf(points);
        moments = List.copyOf(moments);
    }

    /**
     * An observation after an event.
     *
     * @param event the number of the event, from 0
     * @param leastRequested the least bytes requested in its span
     * @param requested the bytes requested after the event: the most in its span
     * @param inUse the bytes in use, padding included
     * @param held the bytes held
     * @param free the bytes held that are not in use
     * @param largestFree the largest chunk of them
     */
    public record Point(
            int event, long leastRequested, long requested, long inUse, long held, long free, long largestFree) {}

    /**
     * The memory at a point.
     *
     * @param event the number of the event
     * @param memory regions, chunks and blocks
     */
    public record Moment(int event, AllocatorSnapshot memory) {}
}
