package allocator.view;

import allocator.trace.Trace;

/** The spans of a trace that a profile observes, and the event with the most requested bytes in each. */
final class Spans {
    private final int[] highest;
    private final long[] least;
    private int peak;

    private Spans(int count) {
        highest = new int[count];
        least = new long[count];
    }

    /**
     * Divides a trace.
     *
     * @param count how many spans, at most the number of events
     */
    static Spans of(Trace trace, int count) {
        final Spans spans = new Spans(count);
        long live = 0;
        long most = Long.MIN_VALUE;
        long mostOfAll = Long.MIN_VALUE;
        int span = -1;
        for (int event = 0; event < trace.eventCount(); event++) {
            live += trace.isAllocation(event) ? trace.byteSize(event) : -trace.byteSize(event);
            final int of = (int) ((long) event * count / trace.eventCount());
            if (of != span) {
                span = of;
                most = Long.MIN_VALUE;
                spans.least[span] = live;
            }
            spans.least[span] = Math.min(spans.least[span], live);
            if (live > most) {
                most = live;
                spans.highest[span] = event;
            }
            if (live > mostOfAll) {
                mostOfAll = live;
                spans.peak = span;
            }
        }
        return spans;
    }

    /** Returns the event of a span after which the most bytes are requested. */
    int highest(int span) {
        return highest[span];
    }

    /** Returns the least bytes requested after an event of a span, if no allocation failed. */
    long least(int span) {
        return least[span];
    }

    /** Returns the span of the peak. */
    int peak() {
        return peak;
    }
}
