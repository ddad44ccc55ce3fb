package allocator.trace;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * What a trace holds. Sums of bytes that exceed {@link Long#MAX_VALUE} are that number.
 *
 * @param trace the trace's name
 * @param events its events: allocations plus frees
 * @param allocations the events that allocate
 * @param liveAtEnd the blocks that it does not free
 * @param allocatedBytes the sizes of all blocks together
 * @param peakLiveBlocks the peak number of live blocks
 * @param peakLiveBytes the peak of the sizes of all live blocks
 * @param peakEvent the number of the event, from 0, with which {@code peakLiveBytes} is reached first; -1 if there is
 *     none
 * @param lifetimes how long blocks live
 * @param streams the streams, in order of appearance
 * @param sizes the blocks by size, smallest first; ranges without a block are left out
 */
public record TraceSummary(
        String trace,
        int events,
        int allocations,
        int liveAtEnd,
        long allocatedBytes,
        int peakLiveBlocks,
        long peakLiveBytes,
        int peakEvent,
        Lifetimes lifetimes,
        List<Stream> streams,
        List<Sizes> sizes) {

    /** Copies the lists. */
    public TraceSummary {
        streams = List.copyOf(streams);
        sizes = List.copyOf(sizes);
    }

    /**
     * The lifetimes of the blocks that are freed, in events: a block that is freed by the next event lives for 1. All
     * are 0 if no block is freed.
     *
     * @param shortest the shortest lifetime
     * @param median the lifetime that half of the blocks do not exceed
     * @param percentile90 the lifetime that nine tenths of the blocks do not exceed
     * @param longest the longest lifetime
     */
    public record Lifetimes(int shortest, int median, int percentile90, int longest) {
        private static Lifetimes of(int[] sorted) {
            if (sorted.length == 0) {
                return new Lifetimes(0, 0, 0, 0);
            }
            return new Lifetimes(
                    sorted[0],
                    sorted[(sorted.length - 1) / 2],
                    sorted[(int) (((long) sorted.length * 9 + 9) / 10 - 1)],
                    sorted[sorted.length - 1]);
        }
    }

    /**
     * The blocks of one stream.
     *
     * @param allocations how many are allocated on it
     * @param bytes their sizes together
     * @param peakLiveBytes the peak of the sizes of those that are live
     */
    public record Stream(int allocations, long bytes, long peakLiveBytes) {}

    /**
     * The blocks of a range of sizes: from a power of two to below the next one, or of no bytes.
     *
     * @param from the least size in bytes
     * @param to the greatest size in bytes
     * @param blocks how many blocks have such a size
     * @param bytes their sizes together
     */
    public record Sizes(long from, long to, int blocks, long bytes) {}

    /**
     * {@return a summary of what a trace holds}
     *
     * @param trace the trace
     */
    public static TraceSummary of(Trace trace) {
        final Counts counts = new Counts(trace);
        for (int event = 0; event < trace.eventCount(); event++) {
            counts.add(event);
        }
        return new TraceSummary(
                trace.name(),
                trace.eventCount(),
                trace.allocationCount(),
                trace.liveAtEnd(),
                counts.allocatedBytes,
                trace.slotCount(),
                trace.peakLiveBytes(),
                counts.peakEvent,
                Lifetimes.of(counts.sortedLifetimes()),
                counts.streams(),
                counts.sizes());
    }

    /** Counts the events of a trace. */
    private static final class Counts {
        private static final int RANGES = 1 + Long.SIZE - 1;

        private final Trace trace;
        private final int[] allocatedAt;
        private final int[] lifetimes;
        private final int[] blocksOfSize = new int[RANGES];
        private final long[] bytesOfSize = new long[RANGES];
        private final int[] blocksOfStream;
        private final long[] bytesOfStream;
        private final long[] liveOfStream;
        private final long[] peakOfStream;
        private int freed;
        private long allocatedBytes;
        private long liveBytes;
        private int peakEvent = -1;

        Counts(Trace trace) {
            this.trace = trace;
            allocatedAt = new int[trace.slotCount()];
            lifetimes = new int[trace.eventCount() - trace.allocationCount()];
            blocksOfStream = new int[trace.streamCount()];
            bytesOfStream = new long[trace.streamCount()];
            liveOfStream = new long[trace.streamCount()];
            peakOfStream = new long[trace.streamCount()];
        }

        void add(int event) {
            final long byteSize = trace.byteSize(event);
            final int stream = trace.stream(event);
            if (!trace.isAllocation(event)) {
                lifetimes[freed++] = event - allocatedAt[trace.slot(event)];
                liveBytes -= byteSize;
                liveOfStream[stream] -= byteSize;
                return;
            }
            allocatedAt[trace.slot(event)] = event;
            allocatedBytes = sum(allocatedBytes, byteSize);
            final int range = Long.SIZE - Long.numberOfLeadingZeros(byteSize);
            blocksOfSize[range]++;
            bytesOfSize[range] = sum(bytesOfSize[range], byteSize);
            blocksOfStream[stream]++;
            bytesOfStream[stream] = sum(bytesOfStream[stream], byteSize);
            liveOfStream[stream] = sum(liveOfStream[stream], byteSize);
            peakOfStream[stream] = Math.max(peakOfStream[stream], liveOfStream[stream]);
            liveBytes = sum(liveBytes, byteSize);
            if (peakEvent < 0 && liveBytes == trace.peakLiveBytes()) {
                peakEvent = event;
            }
        }

        private static long sum(long bytes, long more) {
            return more > Long.MAX_VALUE - bytes ? Long.MAX_VALUE : bytes + more;
        }

        int[] sortedLifetimes() {
            Arrays.sort(lifetimes);
            return lifetimes;
        }

        List<Stream> streams() {
            final List<Stream> streams = new ArrayList<>();
            for (int i = 0; i < blocksOfStream.length; i++) {
                streams.add(new Stream(blocksOfStream[i], bytesOfStream[i], peakOfStream[i]));
            }
            return streams;
        }

        List<Sizes> sizes() {
            final List<Sizes> sizes = new ArrayList<>();
            for (int range = 0; range < RANGES; range++) {
                if (blocksOfSize[range] > 0) {
                    final long from = range == 0 ? 0 : 1L << (range - 1);
                    sizes.add(new Sizes(from, Math.max(0, 2 * from - 1), blocksOfSize[range], bytesOfSize[range]));
                }
            }
            return sizes;
        }
    }
}
