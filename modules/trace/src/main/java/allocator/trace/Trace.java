package allocator.trace;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;

/**
 * A trace in memory, for replaying it again and again: 16 bytes per event and no object per event. Immutable.
 *
 * <p>Blocks are known by their slot (see {@link TraceSink}) and streams by their index in order of appearance, so that
 * a replay needs arrays only.
 */
public final class Trace {
    /** The traces that come with this module, the default first. */
    private static final List<String> BUNDLED =
            List.of("gpt2", "bert", "frcnn", "llama_train", "resnet", "two_streams");

    private final String name;
    private final int eventCount;
    private final int allocationCount;
    private final int slotCount;
    private final int streamCount;
    private final long peakLiveBytes;

    /** For each event its slot {@code s}: {@code s} for an allocation, {@code ~s} for a free. */
    private final int[] slots;

    /** For each event the size of its block. */
    private final long[] byteSizes;

    /** For each event the stream of its block, numbered in order of appearance. */
    private final int[] streams;

    private Trace(String name, Collector collector) {
        this.name = name;
        eventCount = collector.eventCount;
        allocationCount = collector.allocationCount;
        slotCount = collector.slotCount;
        streamCount = collector.streamIndex.size();
        peakLiveBytes = collector.peakLiveBytes;
        slots = Arrays.copyOf(collector.slots, eventCount);
        byteSizes = Arrays.copyOf(collector.byteSizes, eventCount);
        streams = Arrays.copyOf(collector.streams, eventCount);
    }

    /**
     * Reads a file.
     *
     * @param file the trace, plain or gzip
     * @return the trace, named by the file's own name without its folders
     * @throws TraceException if the file cannot be read or is not a trace
     */
    public static Trace read(Path file) throws TraceException {
        final Collector collector = new Collector();
        TraceReader.read(file, collector);
        return new Trace(file.toAbsolutePath().normalize().getFileName().toString(), collector);
    }

    /**
     * Reads one of the traces that come with this module.
     *
     * @param name one of {@link #bundledNames}
     * @return the trace, named like its file
     * @throws TraceException if the module's own file cannot be read
     * @throws IllegalArgumentException if there is no such trace
     */
    public static Trace bundled(String name) throws TraceException {
        if (!BUNDLED.contains(name)) {
            throw new IllegalArgumentException(
                    "no bundled trace " + name + "; there are " + String.join(", ", BUNDLED));
        }
        final String file = name + ".csv.gz";
        final Collector collector = new Collector();
        try (InputStream in = Objects.requireNonNull(Trace.class.getResourceAsStream(file), file)) {
            TraceReader.read(file, in, collector);
        } catch (TraceException e) {
            throw e;
        } catch (IOException e) {
            throw new TraceException(file, 0, "cannot be read: " + e.getMessage(), e);
        }
        return new Trace(file, collector);
    }

    /**
     * The traces that come with this module, recorded from real models.
     *
     * @return their names; the first is the default
     */
    public static List<String> bundledNames() {
        return BUNDLED;
    }

    /**
     * What to call the trace.
     *
     * @return the name of its file, without folders
     */
    public String name() {
        return name;
    }

    /**
     * How many events there are.
     *
     * @return allocations and frees
     */
    public int eventCount() {
        return eventCount;
    }

    /**
     * How many of the events allocate; the others free.
     *
     * @return the count of allocations
     */
    public int allocationCount() {
        return allocationCount;
    }

    /**
     * How many blocks live at the end.
     *
     * @return allocations less frees
     */
    public int liveAtEnd() {
        return 2 * allocationCount - eventCount;
    }

    /**
     * How many blocks live at once at most; every slot is below.
     *
     * @return the largest count of live blocks
     */
    public int slotCount() {
        return slotCount;
    }

    /**
     * How many streams the blocks are allocated on.
     *
     * @return the number of different streams
     */
    public int streamCount() {
        return streamCount;
    }

    /**
     * The largest sum of the sizes of the blocks that live at once.
     *
     * @return bytes; {@link Long#MAX_VALUE} if they are more than that
     */
    public long peakLiveBytes() {
        return peakLiveBytes;
    }

    /**
     * Whether an event allocates.
     *
     * @param event number of the event, from 0
     * @return {@code true} for an allocation, {@code false} for a free
     */
    public boolean isAllocation(int event) {
        return slots[event] >= 0;
    }

    /**
     * The slot of an event's block.
     *
     * @param event number of the event, from 0
     * @return from 0 to below {@link #slotCount}
     */
    public int slot(int event) {
        final int slot = slots[event];
        return slot >= 0 ? slot : ~slot;
    }

    /**
     * The size of an event's block.
     *
     * @param event number of the event, from 0
     * @return bytes, as allocated
     */
    public long byteSize(int event) {
        return byteSizes[event];
    }

    /**
     * The stream that an event's block is allocated on.
     *
     * @param event number of the event, from 0
     * @return from 0 to below {@link #streamCount}, in order of appearance in the trace
     */
    public int stream(int event) {
        return streams[event];
    }

    @Override
    public String toString() {
        return name + " (" + eventCount + " events)";
    }

    /** Gathers the events of a reader in arrays that grow. */
    private static final class Collector implements TraceSink {
        private int[] slots = new int[1 << 12];
        private long[] byteSizes = new long[1 << 12];
        private int[] streams = new int[1 << 12];
        private final LongIntMap streamIndex = new LongIntMap();
        private int eventCount;
        private int allocationCount;
        private int slotCount;
        private long liveBytes;
        private long peakLiveBytes;

        @Override
        public void allocation(long id, int slot, long byteSize, int stream) {
            if (streamIndex.get(stream) == LongIntMap.NONE) {
                streamIndex.put(stream, streamIndex.size());
            }
            slotCount = Math.max(slotCount, slot + 1);
            allocationCount++;
            if (peakLiveBytes != Long.MAX_VALUE) {
                liveBytes = byteSize > Long.MAX_VALUE - liveBytes ? Long.MAX_VALUE : liveBytes + byteSize;
                peakLiveBytes = Math.max(peakLiveBytes, liveBytes);
            }
            add(slot, byteSize, stream);
        }

        @Override
        public void free(long id, int slot, long byteSize, int stream) {
            liveBytes -= byteSize;
            add(~slot, byteSize, stream);
        }

        private void add(int slot, long byteSize, int stream) {
            if (eventCount == slots.length) {
                final int capacity = Math.multiplyExact(2, eventCount);
                slots = Arrays.copyOf(slots, capacity);
                byteSizes = Arrays.copyOf(byteSizes, capacity);
                streams = Arrays.copyOf(streams, capacity);
            }
            slots[eventCount] = slot;
            byteSizes[eventCount] = byteSize;
            streams[eventCount] = streamIndex.get(stream);
            eventCount++;
        }
    }
}
