package allocator.trace;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;
import java.util.Objects;

/**
 * A trace in memory, to be replayed several times: 16 bytes per event and no object per event. Immutable.
 *
 * <p>Blocks are identified by their slot (see {@link TraceSink}) and streams by their index in order of appearance, so
 * that a replay needs only arrays.
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

    /** The slot {@code s} of each event: {@code s} for an allocation, {@code ~s} for a free. */
    private final int[] slots;

    /** The size of each event's block. */
    private final long[] byteSizes;

    /** The events that are reserves. */
    private final BitSet reserves;

    /** The stream of each event's block, numbered in order of appearance. */
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
        reserves = collector.reserves;
    }

    /**
     * {@return the trace of a file, named after the file without its folders}
     *
     * @param file the trace, plain or gzip
     * @throws TraceException if the file cannot be read or is not a trace
     */
    public static Trace read(Path file) throws TraceException {
        final Collector collector = new Collector();
        TraceReader.read(file, collector);
        return new Trace(file.toAbsolutePath().normalize().getFileName().toString(), collector);
    }

    /**
     * {@return one of the traces that come with this module, named like its file}
     *
     * @param name one of {@link #bundledNames}
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

    /** {@return the names of the traces of real models that come with this module; the first is the default} */
    public static List<String> bundledNames() {
        return BUNDLED;
    }

    /** {@return the trace's name, that of its file, without folders} */
    public String name() {
        return name;
    }

    /** {@return the number of events, allocations plus frees} */
    public int eventCount() {
        return eventCount;
    }

    /** {@return the number of allocations; the other events are frees} */
    public int allocationCount() {
        return allocationCount;
    }

    /** {@return how many blocks are live at the end, allocations minus frees} */
    public int liveAtEnd() {
        return 2 * allocationCount - eventCount;
    }

    /** {@return the peak number of live blocks; every slot is below it} */
    public int slotCount() {
        return slotCount;
    }

    /** {@return the number of different streams} */
    public int streamCount() {
        return streamCount;
    }

    /** {@return the peak of the sizes of all live blocks, in bytes; {@link Long#MAX_VALUE} if the sum exceeds it} */
    public long peakLiveBytes() {
        return peakLiveBytes;
    }

    /**
     * {@return whether an event is an allocation, by {@code reserve} too, not a free}
     *
     * @param event number of the event, from 0
     */
    public boolean isAllocation(int event) {
        return slots[event] >= 0;
    }

    /**
     * {@return whether an event is an allocation by {@code reserve}, not another allocation or a free}
     *
     * @param event number of the event, from 0
     */
    public boolean isReserve(int event) {
        return reserves.get(event);
    }

    /** {@return the number of allocations by {@code reserve}, at most {@link #allocationCount}} */
    public int reserveCount() {
        return reserves.cardinality();
    }

    /**
     * {@return the slot of an event's block, from 0 to below {@link #slotCount}}
     *
     * @param event number of the event, from 0
     */
    public int slot(int event) {
        final int slot = slots[event];
        return slot >= 0 ? slot : ~slot;
    }

    /**
     * {@return the size of an event's block in bytes, as allocated}
     *
     * @param event number of the event, from 0
     */
    public long byteSize(int event) {
        return byteSizes[event];
    }

    /**
     * Returns the stream on which an event's block is allocated.
     *
     * @param event number of the event, from 0
     * @return the index, from 0 to below {@link #streamCount}, in order of appearance in the trace
     */
    public int stream(int event) {
        return streams[event];
    }

    @Override
    public String toString() {
        return name + " (" + eventCount + " events)";
    }

    /** Collects the events of a reader in growing arrays. */
    private static final class Collector implements TraceSink {
        private int[] slots = new int[1 << 12];
        private long[] byteSizes = new long[1 << 12];
        private int[] streams = new int[1 << 12];
        private final BitSet reserves = new BitSet();
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
        public void reserve(long id, int slot, long byteSize, int stream) {
            reserves.set(eventCount);
            allocation(id, slot, byteSize, stream);
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
