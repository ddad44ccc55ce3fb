package allocator.bench.gpu;

import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncStream;
import allocator.trace.Trace;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAccumulator;

/**
 * Replays a trace by calling an allocator directly, without touching memory. For one thread at a time; several threads
 * each have one of their own.
 */
final class DirectReplay {
    private final Trace trace;
    private final SyncStream[] streams;
    private final SyncStream[] distinctStreams;
    private final long[] addresses;

    /** For each number of a stream that the trace has there is one of {@code streams}; they may be one and the same. */
    DirectReplay(Trace trace, SyncStream... streams) {
        this.trace = trace;
        this.streams = streams;
        distinctStreams = Arrays.stream(streams).distinct().toArray(SyncStream[]::new);
        addresses = new long[trace.slotCount()];
    }

    /** Returns one replay's time; ends with nothing live and all streams idle and untied, as a run ends. */
    long pass(StreamAwareAllocator allocator) {
        final long start = System.nanoTime();
        final int count = trace.eventCount();
        for (int event = 0; event < count; event++) {
            final int slot = trace.slot(event);
            if (trace.isAllocation(event)) {
                addresses[slot] = allocator.allocOnStream(trace.byteSize(event), streams[trace.stream(event)]);
            } else {
                allocator.free(addresses[slot]);
                addresses[slot] = 0;
            }
        }
        final long nanos = System.nanoTime() - start;
        for (int slot = 0; slot < addresses.length; slot++) {
            allocator.free(addresses[slot]);
            addresses[slot] = 0;
        }
        endRun();
        return nanos;
    }

    /** The same, without a time, and with what lives counted, of all threads; {@code peak} gets each value of it. */
    void pass(StreamAwareAllocator allocator, AtomicLong live, LongAccumulator peak) {
        final long[] sizes = new long[addresses.length];
        for (int event = 0; event < trace.eventCount(); event++) {
            final int slot = trace.slot(event);
            if (trace.isAllocation(event)) {
                addresses[slot] = allocator.allocOnStream(trace.byteSize(event), streams[trace.stream(event)]);
                sizes[slot] = trace.byteSize(event);
                peak.accumulate(live.addAndGet(sizes[slot]));
            } else {
                free(allocator, slot, sizes, live);
            }
        }
        for (int slot = 0; slot < addresses.length; slot++) {
            free(allocator, slot, sizes, live);
        }
        endRun();
    }

    private void free(StreamAwareAllocator allocator, int slot, long[] sizes, AtomicLong live) {
        live.addAndGet(-sizes[slot]);
        sizes[slot] = 0;
        allocator.free(addresses[slot]);
        addresses[slot] = 0;
    }

    private void endRun() {
        for (SyncStream stream : distinctStreams) {
            stream.onSessionRunEnd();
        }
    }
}
