package allocator.bench.planner;

import allocator.arena.ArenaConfig;
import allocator.arena.ArenaPlans;
import allocator.arena.BfcArena;
import allocator.bench.AddressSource;
import allocator.bench.page.KeptPage;
import allocator.bench.pairs.Machine;
import allocator.plan.Instance;
import allocator.plan.Lifetime;
import allocator.plan.Plan;
import allocator.plan.PlanFile;
import allocator.planner.Planner;
import allocator.spi.Allocator;
import allocator.spi.MemoryInfo;
import allocator.trace.Trace;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import java.util.stream.IntStream;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Replays planned traces on arenas with and without the plan. */
@Command(
        name = "bench/run plan-replay",
        sortOptions = false,
        usageHelpAutoWidth = true,
        mixinStandardHelpOptions = true,
        exitCodeOnExecutionException = 2,
        description =
                "Replays planned traces on arenas with and without the plan: time, memory and calls of the device.")
public final class PlanReplay implements Callable<Integer> {
    private static final int BYTE_ALIGNMENT = 256;

    @Parameters(paramLabel = "TRACE", description = "Bundled traces (default: all).")
    private List<String> names = new ArrayList<>();

    @Option(names = "--seconds", paramLabel = "S", description = "Plan each trace no longer than this (default: 2).")
    private int seconds = 2;

    @Option(
            names = "--events",
            paramLabel = "N",
            description = "Replay so many events to warm up, and measure as many.")
    private long events = 10_000_000;

    @Mixin
    private final KeptPage kept = new KeptPage();

    private final StringBuilder report = new StringBuilder();
    private final PrintStream out;

    private PlanReplay(PrintStream out) {
        this.out = out;
    }

    /** Measures and returns the exit status. */
    static int execute(PrintStream out, String... args) {
        return new CommandLine(new PlanReplay(out)).execute(args);
    }

    /**
     * Measures and ends the JVM.
     *
     * @param args the options
     */
    public static void main(String[] args) {
        System.exit(execute(System.out, args));
    }

    @Override
    public Integer call() throws IOException {
        kept.requireName();
        print("# Replays of planned traces\n");
        print("- machine: " + Machine.description());
        print("- JDK: " + Machine.jdk());
        print("- commit: " + kept.commit());
        print("- date: " + LocalDate.now(ZoneOffset.UTC));
        print("- load average: " + Machine.load() + " before\n");
        print("Nanoseconds an event, an allocation or a free on a `BfcArena` without memory behind it, in a warmed JVM:"
                + " the median of\nreplays in turn with best fit alone and with the plan, and the fastest. All"
                + " calls are made by one thread without streams.\n");
        print("| trace | events | best fit, ns | plan, ns | fastest, ns | ratio | held, best fit | held, plan"
                + " | plan / live peak | device calls, warm | not planned |");
        print("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
        for (final String name : names.isEmpty() ? Trace.bundledNames() : names) {
            measure(name, Trace.bundled(name));
        }
        print("\nLoad average: " + Machine.load() + " after.");
        kept.write(report);
        return 0;
    }

    private void measure(String name, Trace trace) throws IOException {
        final ArenaPlans plans = plan(trace);
        final Side planned = new Side(trace, ArenaConfig.DEFAULT.withPlans(plans));
        final Side unplanned = new Side(trace, ArenaConfig.DEFAULT);
        final int replays = (int) Math.max(3, events / trace.eventCount());
        for (int i = 0; i < replays; i++) {
            unplanned.replay();
            planned.replay();
        }
        unplanned.begin();
        planned.begin();
        for (int i = 0; i < replays; i++) {
            unplanned.replay();
            planned.replay();
        }
        print(String.format(
                Locale.ROOT,
                "| %s | %,d | %.1f | %.1f | %.1f | %.2f | %,d | %,d | %.3f | %d | %d |",
                name,
                trace.eventCount(),
                unplanned.median(),
                planned.median(),
                planned.fastest(),
                unplanned.median() / planned.median(),
                unplanned.arena.stats().bytesHeld(),
                planned.arena.stats().bytesHeld(),
                (double) planned.arena.stats().bytesHeld()
                        / planned.arena.stats().peakBytesInUse(),
                planned.source.calls,
                planned.arena.stats().numAllocs()
                        - planned.arena
                                .stats()
                                .counter("PlannedAllocs")
                                .orElseThrow()
                                .value()));
    }

    /** Plans all streams as one, as one thread without streams replays them. */
    private ArenaPlans plan(Trace trace) throws IOException {
        final int blocks = trace.allocationCount();
        final List<Lifetime> lifetimes = new ArrayList<>();
        final long[] lower = new long[trace.slotCount()];
        final int[] blockOf = new int[trace.slotCount()];
        Arrays.fill(blockOf, -1);
        for (int event = 0; event < trace.eventCount(); event++) {
            final int slot = trace.slot(event);
            if (trace.isAllocation(event)) {
                lower[slot] = event;
                blockOf[slot] = lifetimes.size();
                lifetimes.add(new Lifetime(event, trace.eventCount(), trace.byteSize(event), BYTE_ALIGNMENT));
            } else {
                lifetimes.set(blockOf[slot], new Lifetime(lower[slot], event, trace.byteSize(event), BYTE_ALIGNMENT));
            }
        }
        final Instance instance = new Instance(lifetimes);
        final Plan plan =
                Planner.builder().timeLimit(Duration.ofSeconds(seconds)).build().plan(instance);
        final List<String> ids =
                IntStream.range(0, blocks).mapToObj(Integer::toString).toList();
        final Path file = Files.createTempFile("plan", ".csv");
        try {
            Files.writeString(file, PlanFile.text(ids, instance, plan));
            return ArenaPlans.of(List.of(trace.name()), List.of(PlanFile.read(file)));
        } finally {
            Files.delete(file);
        }
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
    private static final class Side {
        private final CountingSource source = new CountingSource();
        private final BfcArena arena;
        private final int[] slots;
        private final long[] byteSizes;
        private final long[] addresses;
        private final List<Long> nanos = new ArrayList<>();

        Side(Trace trace, ArenaConfig config) {
            arena = new BfcArena(source, config);
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
                    addresses[slot] = arena.alloc(byteSizes[event]);
                } else {
                    arena.free(addresses[slot]);
                    addresses[slot] = 0;
                }
            }
            nanos.add(System.nanoTime() - start);
            for (int slot = 0; slot < addresses.length; slot++) {
                arena.free(addresses[slot]);
                addresses[slot] = 0;
            }
        }

        double median() {
            final long[] sorted =
                    nanos.stream().mapToLong(Long::longValue).sorted().toArray();
            return (double) sorted[sorted.length / 2] / slots.length;
        }

        double fastest() {
            return nanos.stream().mapToLong(Long::longValue).min().orElse(0) / (double) slots.length;
        }
    }

    private void print(String line) {
        out.println(line);
        report.append(line).append('\n');
    }
}
