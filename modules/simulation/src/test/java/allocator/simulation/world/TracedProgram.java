package allocator.simulation.world;

import allocator.arena.BfcArena;
import allocator.arena.page.ReservePages;
import allocator.simulation.Op;
import allocator.simulation.Program;
import allocator.simulation.Simulation;
import allocator.simulation.WorldType;
import allocator.simulation.schedule.Points;
import allocator.simulation.schedule.Scheduler;
import allocator.spi.Allocator;
import allocator.spi.MemoryInfo;
import allocator.spi.SpiLevel;
import allocator.spi.SyncNotification;
import allocator.spi.SyncStream;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.function.LongConsumer;
import java.util.function.LongSupplier;
import java.util.stream.Stream;

/**
 * A simulated program whose trace is that of the model: what its arena takes from a device, maps and hands out, and
 * what its streams wait for. It checks nothing itself.
 */
public final class TracedProgram {
    private static final long MOST_STEPS = 30_000_000;

    /** What a trace is of. */
    private enum Kind {
        REGIONS,
        PAGES,
        WEIGHTS
    }

    private record Block(long address, TracedStream stream) {}

    private final List<String> events = new ArrayList<>();
    private final Program program;
    private final SplittableRandom random;
    private final SimulatedDevice faults;
    private final boolean hasFaults;
    private final Map<Integer, TracedStream> streams = new HashMap<>();

    /** Live blocks, with their streams; {@code null} for none. */
    private final TreeMap<Long, Block> live = new TreeMap<>();

    /** Calls in progress that free a block of a stream. */
    private final Map<TracedStream, Integer> freeing = new HashMap<>();

    /** Streams whose memory a call unbinds. */
    private final Set<TracedStream> ending = new HashSet<>();

    private final BfcArena arena;
    private final ReservePages weights;
    private boolean isAsleep;
    private long lastEvent;
    private long lastPage = 1 << 20;

    private TracedProgram(
            Program program, SplittableRandom random, Kind kind, long limit, int faultEvery, int mostPages) {
        this.program = program;
        this.random = random;
        hasFaults = faultEvery > 0;
        final PagedModel unused = new PagedModel(mostPages, Long.MAX_VALUE, List.of());
        faults = new SimulatedDevice(random.split(), unused, Long.MAX_VALUE, Long.MAX_VALUE, faultEvery);
        if (limit > 0) {
            events.add("limit " + limit);
        }
        final TracedPages pages = new TracedPages(unused.pages().on(faults));
        final TracedDevice device = new TracedDevice(
                new SimulatedDevice(random.split(), unused, mostPages * 25L * SimulatedPages.PAGE, Long.MAX_VALUE, 0));
        arena = switch (kind) {
            case REGIONS -> new BfcArena(device, ArenaSettings.arena(random, limit));
            case PAGES -> BfcArena.onPages(device, pages, ArenaSettings.paged(random, limit));
            case WEIGHTS -> null;
        };
        weights = kind == Kind.WEIGHTS
                ? new ReservePages(device, pages, SimulatedPages.PAGE << random.nextInt(3), this::flushAll)
                : null;
    }

    private static TracedProgram of(long seed) {
        Simulation.restartStreamIds();
        final Program program = Program.of(seed, List.of(WorldType.PAGES));
        final SplittableRandom random = new SplittableRandom(program.settings());
        final Kind kind = Kind.values()[random.nextInt(Kind.values().length)];
        final int faultEvery = random.nextInt(3) == 0 ? 1 << random.nextInt(1, 5) : 0;
        final long limit = kind == Kind.WEIGHTS || random.nextBoolean() ? 0 : 1L << random.nextInt(14, 20);
        return new TracedProgram(program, random, kind, limit, faultEvery, 40);
    }

    /** Returns the trace of an arena that serves the requests of a recording, lines in the format of traces. */
    public static List<String> replay(Stream<String> requests, boolean isPaged) throws Throwable {
        final TracedProgram traced = new TracedProgram(
                Program.of(0, List.of(WorldType.PAGES)),
                new SplittableRandom(0),
                isPaged ? Kind.PAGES : Kind.REGIONS,
                0,
                0,
                1 << 22);
        final Map<String, Long> addresses = new HashMap<>();
        requests.skip(1).map(line -> line.split(",", -1)).forEach(request -> {
            final long byteSize = Long.parseLong(request[2]);
            final TracedStream stream =
                    traced.streams.computeIfAbsent(Integer.valueOf(request[3]), _ -> traced.new TracedStream());
            switch (request[0]) {
                case "f" -> traced.free(traced.live.get(addresses.remove(request[1])), traced.arena::free);
                case "r" ->
                    addresses.put(request[1], traced.allocate(byteSize, null, () -> traced.arena.reserve(byteSize)));
                default ->
                    addresses.put(
                            request[1],
                            traced.allocate(byteSize, stream, () -> traced.arena.allocOnStream(byteSize, stream)));
            }
        });
        new Scheduler(0, MOST_STEPS).run(List.of(traced::finish));
        return traced.events;
    }

    /**
     * Returns the trace of the program of a seed.
     *
     * @param isInstrumented whether the product is, so that threads go on within each other's calls; otherwise one
     *     thread makes all calls, in an order that the seed decides
     */
    public static List<String> trace(long seed, boolean isInstrumented) throws Throwable {
        final TracedProgram traced = of(seed);
        new Scheduler(traced.program.schedule(), MOST_STEPS)
                .run(isInstrumented && traced.arena != null ? traced.threads() : List.of(traced::performAll));
        new Scheduler(traced.program.schedule(), MOST_STEPS).run(List.of(traced::finish));
        return traced.events;
    }

    private List<Runnable> threads() {
        final List<Runnable> bodies = new ArrayList<>();
        for (int thread = 0; thread < program.threads().size(); thread++) {
            final int number = thread;
            bodies.add(() -> program.threads().get(number).forEach(op -> perform(number, op)));
        }
        return bodies;
    }

    private void performAll() {
        final List<Iterator<Op>> left = new ArrayList<>();
        program.threads().forEach(operations -> left.add(operations.iterator()));
        while (left.stream().anyMatch(Iterator::hasNext)) {
            final int thread = random.nextInt(left.size());
            if (left.get(thread).hasNext()) {
                perform(thread, left.get(thread).next());
            }
        }
    }

    private void perform(int thread, Op op) {
        final TracedStream stream = streams.computeIfAbsent(thread * 2 + op.b() % 2, _ -> new TracedStream());
        final long byteSize = 1L + op.a() % (1 << random.nextInt(8, 17));
        if (arena == null) {
            performOnWeights(op, byteSize);
            return;
        }
        switch (op.kind()) {
            case ALLOC -> allocate(byteSize, null, () -> arena.alloc(byteSize));
            case ALLOC_ON_STREAM -> allocate(byteSize, stream, () -> arena.allocOnStream(byteSize, stream));
            case RESERVE -> allocate(byteSize, null, () -> arena.reserve(byteSize));
            case FREE -> free(op.a(), arena::free);
            case END_RUN -> end(stream, false);
            case CLOSE_STREAM -> {
                end(stream, true);
                streams.values().removeIf(SyncStream::hasEnded);
            }
            case WAIT -> {
                final TracedStream producer = streams.getOrDefault(op.a() % 8, stream);
                attempt(() -> {
                    try (SyncNotification notification = producer.createNotification()) {
                        notification.activate();
                        notification.waitOnDevice(stream);
                    }
                });
            }
            case SHRINK -> attempt(arena::shrink);
            default -> {}
        }
    }

    /** Performs an operation on weights; those that live sleep, and wake, one after the other. No work uses them. */
    private void performOnWeights(Op op, long byteSize) {
        switch (op.kind()) {
            case ALLOC, ALLOC_ON_STREAM, RESERVE -> {
                final long pageBytes = weights.pageBytes() + byteSize;
                try {
                    final long address = Scheduler.call(() -> weights.reserve(pageBytes));
                    events.add("load " + address + " " + pageBytes);
                    live.put(address, new Block(address, null));
                } catch (Throwable e) {
                    Model.requireSimulated(e, true);
                }
            }
            case FREE -> free(op.a(), weights::free);
            case WAIT, CONTEND -> sleepOrWake();
            default -> {}
        }
    }

    private void sleepOrWake() {
        if (!isAsleep) {
            for (final long address : live.keySet()) {
                if (weights.mappedBytes(address) > 0) {
                    events.add("sleep " + address);
                    attempt(() -> weights.unmap(address));
                }
            }
            isAsleep = !live.isEmpty();
            return;
        }
        for (final long address : live.keySet()) {
            if (weights.mappedBytes(address) > 0) {
                continue;
            }
            events.add("begin");
            try {
                Scheduler.call(() -> weights.map(address, (from, partBytes) -> {}));
                events.add("wake " + address);
            } catch (Throwable e) {
                Model.requireSimulated(e, true);
                if (!hasFaults) {
                    events.add("failed");
                }
                return;
            }
        }
        isAsleep = false;
    }

    private void attempt(Runnable call) {
        try {
            Scheduler.call(call);
        } catch (Throwable e) {
            Model.requireSimulated(e, true);
        }
    }

    /** Returns the address of a block, 0 if the request failed. */
    private long allocate(long byteSize, TracedStream stream, LongSupplier allocation) {
        final boolean isAlone = program.threads().size() == 1 && !hasFaults;
        if (isAlone) {
            events.add("begin");
        }
        final long address;
        try {
            address = Scheduler.call(allocation);
        } catch (Throwable e) {
            Model.requireSimulated(e, true);
            if (isAlone) {
                events.add("failed");
            }
            return 0;
        }
        events.add("allocate " + address + " " + byteSize + " " + (stream == null ? 0 : stream.id()));
        live.put(address, new Block(address, stream));
        return address;
    }

    private void free(int choice, LongConsumer call) {
        final List<Block> blocks = live.values().stream()
                .filter(block -> !ending.contains(block.stream))
                .toList();
        if (!blocks.isEmpty()) {
            free(blocks.get(choice % blocks.size()), call);
        }
    }

    private void free(Block block, LongConsumer call) {
        live.remove(block.address);
        events.add("free " + block.address);
        freeing.merge(block.stream, 1, Integer::sum);
        attempt(() -> call.accept(block.address));
        freeing.merge(block.stream, -1, Integer::sum);
    }

    /** Ends a run, or closes the stream. No block of the stream is freed at that time. */
    private void end(TracedStream stream, boolean closes) {
        if (freeing.getOrDefault(stream, 0) > 0 || !ending.add(stream)) {
            return;
        }
        attempt(stream::flush);
        if (closes) {
            events.add("close " + stream.id());
        }
        attempt(() -> {
            if (closes) {
                arena.releaseStream(stream);
            } else {
                arena.endRun(stream);
            }
        });
        if (closes) {
            stream.close();
        }
        ending.remove(stream);
    }

    private void flushAll() {
        List.copyOf(streams.values()).forEach(TracedStream::flush);
    }

    private void finish() {
        faults.repair();
        if (arena == null) {
            List.copyOf(live.keySet()).forEach(_ -> free(0, weights::free));
            Scheduler.call(weights::returnAgain);
            events.add("end");
            return;
        }
        List.copyOf(live.keySet()).forEach(_ -> free(0, arena::free));
        streams.values().forEach(stream -> end(stream, false));
        Scheduler.call(() -> {
            arena.shrink();
        });
        Scheduler.call(() -> {
            arena.close();
        });
        events.add("end");
    }

    /** A stream of which each event and each wait is traced. */
    private final class TracedStream extends SyncStream {
        private final int lag = random.nextInt(20);

        private TracedStream() {
            super(SimulatedDevice.INFO);
        }

        @Override
        public long handle() {
            return id();
        }

        @Override
        public SyncNotification createNotification() {
            final long event = ++lastEvent;
            return new SyncNotification(this) {
                @Override
                protected void record() {
                    events.add("record " + TracedStream.this.id() + " " + event);
                }

                @Override
                protected void enqueueWait(SyncStream consumer) {
                    events.add("wait " + consumer.id() + " " + event);
                }

                @Override
                protected void await() {
                    events.add("wait 0 " + event);
                }

                @Override
                public void close() {}
            };
        }

        @Override
        public void flush() {
            final long event = ++lastEvent;
            events.add("record " + id() + " " + event);
            for (int i = 0; i < lag; i++) {
                Points.access();
            }
            events.add("wait 0 " + event);
        }

        @Override
        public void onSessionRunEnd() {}

        @Override
        public void close() {
            setEnded();
        }
    }

    /** A device of which each region and reserve is a page. */
    private final class TracedDevice implements Allocator {
        private final SimulatedDevice device;
        private final Map<Long, Long> taken = new HashMap<>();

        private TracedDevice(SimulatedDevice device) {
            this.device = device;
        }

        @Override
        public long alloc(long byteSize) {
            faults.call();
            final long address = device.alloc(byteSize);
            lastPage++;
            taken.put(address, lastPage);
            events.add("take " + lastPage + " " + byteSize);
            events.add("map " + address + " " + lastPage);
            return address;
        }

        @Override
        public void free(long address) {
            Points.access();
            events.add("unmap " + address);
            events.add("release " + taken.remove(address));
            device.free(address);
        }

        @Override
        public MemoryInfo info() {
            return SimulatedDevice.INFO;
        }

        @Override
        public int spiLevel() {
            return SpiLevel.MINIMUM;
        }
    }

    /** Pages of which each call is traced. */
    private final class TracedPages implements ReservePages.Pages {
        private final SimulatedPages pages;
        private final Set<Long> mapped = new HashSet<>();

        private TracedPages(SimulatedPages pages) {
            this.pages = pages;
        }

        @Override
        public MemoryInfo info() {
            return pages.info();
        }

        @Override
        public long pageBytes() {
            return pages.pageBytes();
        }

        @Override
        public long memoryBytes() {
            return pages.memoryBytes();
        }

        @Override
        public long reserve(long byteSize) {
            return pages.reserve(byteSize);
        }

        @Override
        public void unreserve(long address, long byteSize) {
            pages.unreserve(address, byteSize);
        }

        @Override
        public long create(int count) {
            final long extent = pages.create(count);
            events.add("take " + extent + " " + count * pageBytes());
            return extent;
        }

        @Override
        public void release(long extent) {
            pages.release(extent);
            events.add("release " + extent);
        }

        @Override
        public void map(long address, long extent) {
            pages.map(address, extent);
            mapped.add(address);
            events.add("map " + address + " " + extent);
        }

        @Override
        public void unmap(long address) {
            pages.unmap(address);
            if (mapped.remove(address)) {
                events.add("unmap " + address);
            }
        }

        @Override
        public void clear(long address, long byteSize) {}

        @Override
        public void read(long address, MemorySegment target) {}

        @Override
        public void protect(long address, long byteSize) {}

        @Override
        public void close() {
            pages.close();
        }
    }
}
