package allocator.trace;

import allocator.runtime.ManagedAllocator;
import allocator.runtime.Run;
import allocator.spi.AllocatorStats;
import allocator.spi.OutOfMemoryException;
import allocator.spi.SyncStream;
import java.util.Arrays;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.DoubleConsumer;
import org.jspecify.annotations.Nullable;

/**
 * One pass over the events of a trace, in one run of a session, and its counts. May be executed several times.
 *
 * <p>No Java object is created per event, so the time measured is that of allocation, without garbage collection.
 * Slices of events are timed, and listeners are called between them, outside the timed code.
 */
final class ReplayPass {
    private static final int SLICES = 100;

    /** In {@link #addresses}: the allocation failed, and its free is skipped. No block has this address. */
    private static final long FAILED = -1;

    private final Trace trace;

    /** The block in each slot; {@link #FAILED} in all of them outside a pass. */
    private final long[] addresses;

    private long nanos;
    private long requestedBytes;
    private long peakRequestedBytes;
    private int failedAllocations;
    private int liveBlocks;
    private AllocatorStats statsBefore = AllocatorStats.NONE;
    private AllocatorStats statsAtEnd = AllocatorStats.NONE;

    ReplayPass(Trace trace) {
        this.trace = trace;
        addresses = new long[trace.slotCount()];
        Arrays.fill(addresses, FAILED);
    }

    /**
     * Replays all events, reads the statistics, and frees the blocks that are still live, also after a failure.
     *
     * @param onSlice receives the fraction of the trace that is done, from 0 to 1
     */
    void execute(Run run, DoubleConsumer onSlice) {
        final ManagedAllocator allocator = run.allocator();
        statsBefore = statsAtEnd;
        try {
            replay(run, allocator, onSlice);
            statsAtEnd = allocator.stats();
        } catch (Throwable e) {
            try {
                freeRest(allocator);
            } catch (RuntimeException suppressed) {
                e.addSuppressed(suppressed);
            }
            throw e;
        }
        freeRest(allocator);
    }

    private void replay(Run run, ManagedAllocator allocator, DoubleConsumer onSlice) {
        nanos = 0;
        requestedBytes = 0;
        peakRequestedBytes = 0;
        failedAllocations = 0;
        liveBlocks = 0;
        final SyncStream[] streams = streams(run, allocator);
        final int count = trace.eventCount();
        final int sliceLength = Math.max(1, count / SLICES);
        for (int from = 0; from < count; from += sliceLength) {
            final int to = Math.min(count, from + sliceLength);
            final long start = System.nanoTime();
            replay(from, to, allocator, streams);
            nanos += System.nanoTime() - start;
            onSlice.accept((double) to / count);
        }
    }

    /** Returns the streams that the trace needs; none if the allocator does not order memory on streams. */
    private SyncStream[] streams(Run run, ManagedAllocator allocator) {
        if (!allocator.isStreamAware() || !run.hasStreams()) {
            return new SyncStream[0];
        }
        final SyncStream[] streams = new SyncStream[trace.streamCount()];
        Arrays.setAll(streams, run::stream);
        return streams;
    }

    private void replay(int from, int to, ManagedAllocator allocator, SyncStream[] streams) {
        for (int event = from; event < to; event++) {
            final int slot = trace.slot(event);
            final long byteSize = trace.byteSize(event);
            if (trace.isAllocation(event)) {
                final long address = allocate(
                        allocator,
                        byteSize,
                        trace.isReserve(event),
                        streams.length == 0 ? null : streams[trace.stream(event)]);
                addresses[slot] = address;
                if (address != FAILED) {
                    liveBlocks++;
                    requestedBytes += byteSize;
                    peakRequestedBytes = Math.max(peakRequestedBytes, requestedBytes);
                }
            } else if (addresses[slot] != FAILED) {
                final long address = addresses[slot];
                addresses[slot] = FAILED;
                liveBlocks--;
                requestedBytes -= byteSize;
                allocator.free(address);
            }
        }
    }

    private long allocate(ManagedAllocator allocator, long byteSize, boolean isReserve, @Nullable SyncStream stream) {
        try {
            if (isReserve) {
                return allocator.reserve(byteSize);
            }
            return stream == null ? allocator.alloc(byteSize) : allocator.allocOnStream(byteSize, stream);
        } catch (OutOfMemoryException e) {
            failedAllocations++;
            return FAILED;
        }
    }

    /** Frees all live blocks, and then throws the first failure. */
    private void freeRest(ManagedAllocator allocator) {
        RuntimeException failure = null;
        for (int slot = 0; slot < addresses.length; slot++) {
            final long address = addresses[slot];
            if (address == FAILED) {
                continue;
            }
            addresses[slot] = FAILED;
            try {
                allocator.free(address);
            } catch (RuntimeException e) {
                failure = failure == null ? e : failure;
            }
        }
        if (failure != null) {
            throw failure;
        }
    }

    double nanosPerEvent() {
        return trace.eventCount() == 0 ? 0 : (double) nanos / trace.eventCount();
    }

    /** Returns the allocator's statistics after the last event, before the remaining blocks were freed. */
    AllocatorStats statsAtEnd() {
        return statsAtEnd;
    }

    /**
     * Returns by how much a counter of the allocator's own rose from the end of the pass before to the end of this one;
     * empty if one of them had no such counter.
     */
    OptionalLong rise(String counter) {
        final Optional<AllocatorStats.Counter> before = statsBefore.counter(counter);
        final Optional<AllocatorStats.Counter> after = statsAtEnd.counter(counter);
        return before.isPresent() && after.isPresent()
                ? OptionalLong.of(after.get().value() - before.get().value())
                : OptionalLong.empty();
    }

    /** Returns the peak of the requested sizes of all live blocks. */
    long peakRequestedBytes() {
        return peakRequestedBytes;
    }

    int failedAllocations() {
        return failedAllocations;
    }

    /** Returns how many blocks were live after the last event. */
    int liveBlocks() {
        return liveBlocks;
    }
}
