package allocator.bench.planner;

import allocator.arena.ArenaAllocator;
import allocator.arena.ArenaConfig;
import allocator.arena.BfcArena;
import allocator.arena.plan.ArenaPlans;
import allocator.arena.plan.PlannedAllocator;
import allocator.bench.AddressSource;
import allocator.plan.PlanFile;
import allocator.spi.Allocator;
import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorStats;
import allocator.spi.MemoryInfo;
import allocator.trace.Trace;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.stream.IntStream;

/** Replays a trace on one arena, in a JVM of its own, and prints the figures of the warm replays in one line. */
final class PlanReplayMeasurement {
    private PlanReplayMeasurement() {}

    /**
     * What a measurement found.
     *
     * @param median nanoseconds an event, of the median replay
     * @param fastest nanoseconds an event, of the fastest replay
     * @param held the bytes that the arena holds at last
     * @param peak the most bytes that were in use; with a plan, its height
     * @param calls calls of the device
     * @param unplanned allocations that no plan served, of all replays
     */
    record Figures(double median, double fastest, long held, long peak, long calls, long unplanned) {
        static Figures parse(String line) {
            final String[] fields = line.split(" ", -1);
            return new Figures(
                    Double.parseDouble(fields[0]),
                    Double.parseDouble(fields[1]),
                    Long.parseLong(fields[2]),
                    Long.parseLong(fields[3]),
                    Long.parseLong(fields[4]),
                    Long.parseLong(fields[5]));
        }

        String line() {
            return String.format(Locale.ROOT, "%f %f %d %d %d %d", median, fastest, held, peak, calls, unplanned);
        }
    }

    /**
     * Measures.
     *
     * @param args the trace, the number of replays, and the file of its plan if there is one
     * @throws IOException if the plan cannot be read
     */
    public static void main(String[] args) throws IOException {
        final Trace trace = Trace.bundled(args[0]);
        final int replays = Integer.parseInt(args[1]);
        final ArenaPlans plans = args.length == 2
                ? ArenaPlans.NONE
                : ArenaPlans.of(List.of(trace.name()), List.of(PlanFile.read(Path.of(args[2]))));
        System.out.println(measure(trace, plans, replays).line());
    }

    private static Figures measure(Trace trace, ArenaPlans plans, int replays) {
        final Replays side = new Replays(trace, plans);
        for (int i = 0; i < replays; i++) {
            side.replay();
        }
        side.begin();
        for (int i = 0; i < replays; i++) {
            side.replay();
        }
        return side.figures();
    }

    /** Counts calls. */
    private static final class CountingSource implements Allocator {
        private final AddressSource source = new AddressSource();
        private long calls;

        @Override
        public long alloc(long byteSize) {
            calls++;
            return source.alloc(byteSize);
        }

        @Override
        public void free(long address) {
            calls++;
            source.free(address);
        }

        @Override
        public MemoryInfo info() {
            return source.info();
        }

        @Override
        public int spiLevel() {
            return source.spiLevel();
        }
    }

    /** An arena, and the times of its replays. */
    private static final class Replays {
        private final CountingSource source = new CountingSource();
        private final Allocator allocator;
        private final int[] slots;
        private final long[] byteSizes;
        private final long[] addresses;
        private final List<Long> nanos = new ArrayList<>();

        Replays(Trace trace, ArenaPlans plans) {
            final Allocator arena =
                    new ArenaAllocator(new BfcArena(source, ArenaConfig.DEFAULT), AllocatorOptions.EMPTY);
            allocator = plans.isEmpty() ? arena : new PlannedAllocator(arena, plans);
            slots = IntStream.range(0, trace.eventCount()).map(trace::slot).toArray();
            byteSizes = IntStream.range(0, trace.eventCount())
                    .mapToLong(event -> trace.isAllocation(event) ? trace.byteSize(event) : -1)
                    .toArray();
            addresses = new long[trace.slotCount()];
        }

        void begin() {
            nanos.clear();
            source.calls = 0;
        }

        void replay() {
            final long start = System.nanoTime();
            for (int event = 0; event < slots.length; event++) {
                final int slot = slots[event];
                if (byteSizes[event] >= 0) {
                    addresses[slot] = allocator.alloc(byteSizes[event]);
                } else {
                    allocator.free(addresses[slot]);
                    addresses[slot] = 0;
                }
            }
            nanos.add(System.nanoTime() - start);
            for (int slot = 0; slot < addresses.length; slot++) {
                allocator.free(addresses[slot]);
                addresses[slot] = 0;
            }
        }

        Figures figures() {
            final long[] sorted =
                    nanos.stream().mapToLong(Long::longValue).sorted().toArray();
            final AllocatorStats stats = allocator.stats();
            return new Figures(
                    (double) sorted[sorted.length / 2] / slots.length,
                    (double) sorted[0] / slots.length,
                    stats.bytesHeld(),
                    stats.peakBytesInUse(),
                    source.calls,
                    stats.numAllocs()
                            - stats.counter("PlannedAllocs")
                                    .map(AllocatorStats.Counter::value)
                                    .orElse(0L));
        }
    }
}
