package allocator.doctor;

import ai.onnxruntime.OrtException;
import allocator.spi.Allocator;
import allocator.spi.MemoryInfo;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * Forwards to an allocator of host memory and notes what the runs of a session allocate and free. What is live before
 * the first run is one sum: ONNX Runtime loads weights in changing orders.
 */
final class Recording implements Allocator {
    /** The number of a block that was allocated before the runs. */
    private static final int LOADED = -1;

    /** The bytes that an event adds, negative for a free, and the number of its block, from 0 on. */
    record Event(long bytes, int block) {
        private boolean isLike(Event other) {
            return block == other.block && bytes < 0 == other.bytes < 0;
        }
    }

    /**
     * What was recorded.
     *
     * @param loaded the bytes in use before the runs
     * @param loadedPeak the most bytes in use before the runs
     * @param peak the most bytes in use
     * @param first the events of the first run
     * @param second the events of the second run
     */
    record Runs(long loaded, long loadedPeak, long peak, List<Event> first, List<Event> second) {
        /** Returns whether the runs of another session are alike except for the sizes. */
        boolean areLike(Runs other) {
            return areLike(first, other.first) && areLike(second, other.second);
        }

        private static boolean areLike(List<Event> some, List<Event> others) {
            boolean areLike = some.size() == others.size();
            for (int i = 0; areLike && i < some.size(); i++) {
                areLike = some.get(i).isLike(others.get(i));
            }
            return areLike;
        }
    }

    private final Allocator upstream;
    private final Map<Long, Event> live = new HashMap<>();
    private final List<Event> events = new ArrayList<>();
    private long inUse;
    private long peak;
    private int blocks = LOADED;

    Recording(Allocator upstream) {
        this.upstream = upstream;
    }

    /** A run of the session. */
    interface Run {
        void run() throws OrtException;
    }

    /** Records two runs. */
    Runs record(Run run) throws OrtException {
        final long loaded = inUse;
        final long loadedPeak = peak;
        blocks = 0;
        events.clear();
        run.run();
        final List<Event> first = List.copyOf(events);
        events.clear();
        run.run();
        return new Runs(loaded, loadedPeak, peak, first, List.copyOf(events));
    }

    @Override
    public long alloc(long byteSize) {
        return allocated(upstream.alloc(byteSize), byteSize);
    }

    @Override
    public long reserve(long byteSize) {
        return allocated(upstream.reserve(byteSize), byteSize);
    }

    private synchronized long allocated(long address, long byteSize) {
        final Event event = new Event(byteSize, blocks == LOADED ? LOADED : blocks++);
        live.put(address, event);
        events.add(event);
        inUse += byteSize;
        peak = Math.max(peak, inUse);
        return address;
    }

    @Override
    public void free(long address) {
        synchronized (this) {
            final Event event = Objects.requireNonNull(live.remove(address), "block");
            events.add(new Event(-event.bytes, event.block));
            inUse -= event.bytes;
        }
        upstream.free(address);
    }

    @Override
    public MemoryInfo info() {
        return upstream.info();
    }

    @Override
    public int spiLevel() {
        return upstream.spiLevel();
    }
}
