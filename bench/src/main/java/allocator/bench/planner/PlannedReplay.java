package allocator.bench.planner;

import allocator.arena.ArenaAllocator;
import allocator.arena.ArenaConfig;
import allocator.arena.BfcArena;
import allocator.arena.plan.ArenaPlans;
import allocator.arena.plan.PlannedAllocator;
import allocator.bench.AddressSource;
import allocator.bench.pairs.Player;
import allocator.bench.pairs.Workload;
import allocator.bench.subject.AddressSlots;
import allocator.plan.Instance;
import allocator.plan.Lifetime;
import allocator.plan.Plan;
import allocator.plan.PlanFile;
import allocator.planner.Planner;
import allocator.spi.Allocator;
import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorStats;
import allocator.trace.Trace;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.openjdk.jmh.annotations.AuxCounters;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/**
 * An event, an allocation or a free, of a trace that is replayed again and again on an arena without memory behind it,
 * with best fit alone and with the trace's plan. All calls are made by one thread without streams.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Fork(3)
@Warmup(iterations = 5, time = 1)
@Measurement(iterations = 5, time = 1)
public class PlannedReplay {
    private static final int EVENTS = 1000;
    private static final int BYTE_ALIGNMENT = 256;
    private static final Duration LONGEST_PLANNING = Duration.ofSeconds(2);

    /** A bundled trace. */
    @Param({"gpt2", "bert", "frcnn", "llama_train", "resnet", "two_streams"})
    public String trace = "";

    /** Whether the arena follows the trace's plan. */
    @Param({"false", "true"})
    public boolean isPlanned;

    private final AddressSource device = new AddressSource();
    private @Nullable Allocator arena;
    private @Nullable Player player;

    /** What the arena says after replays. */
    @State(Scope.Thread)
    @AuxCounters(AuxCounters.Type.EVENTS)
    public static class Counted {
        /** Bytes held. */
        public long heldBytes;

        /** The most bytes that were in use at once. */
        public long peakBytes;

        /** Calls of the device in a replay that is not the first. */
        public long deviceCalls;

        /** Allocations of all replays that no plan has served. */
        public long unplannedAllocations;
    }

    /** Plans, if that is wanted, and makes the arena. */
    @Setup
    public void open() throws IOException {
        final ArenaAllocator unplanned =
                new ArenaAllocator(new BfcArena(device, ArenaConfig.DEFAULT), AllocatorOptions.EMPTY);
        arena = isPlanned
                ? new PlannedAllocator(unplanned, ArenaPlans.of(List.of(trace), List.of(plan(Trace.bundled(trace)))))
                : unplanned;
        final Workload workload = Workload.of(trace, 0);
        player = new Player(workload, new AddressSlots(arena, workload.slots()));
    }

    /** Plans all streams as one, as one thread without streams replays them. */
    private static PlanFile plan(Trace trace) throws IOException {
        final List<Lifetime> lifetimes = new ArrayList<>();
        final int[] blockOf = new int[trace.slotCount()];
        for (int event = 0; event < trace.eventCount(); event++) {
            final int slot = trace.slot(event);
            if (trace.isAllocation(event)) {
                blockOf[slot] = lifetimes.size();
                lifetimes.add(new Lifetime(event, trace.eventCount(), trace.byteSize(event), BYTE_ALIGNMENT));
            } else {
                final Lifetime begun = lifetimes.get(blockOf[slot]);
                lifetimes.set(blockOf[slot], new Lifetime(begun.lower(), event, begun.byteSize(), BYTE_ALIGNMENT));
            }
        }
        final Instance instance = new Instance(lifetimes);
        final Plan plan = Planner.builder().timeLimit(LONGEST_PLANNING).build().plan(instance);
        final List<String> ids =
                IntStream.range(0, lifetimes.size()).mapToObj(Integer::toString).toList();
        final Path file = Files.createTempFile("plan", ".csv");
        try {
            Files.writeString(file, PlanFile.text(ids, instance, plan));
            return PlanFile.read(file);
        } finally {
            Files.delete(file);
        }
    }

    /** Plays events. */
    @Benchmark
    @OperationsPerInvocation(EVENTS)
    public void event() {
        Objects.requireNonNull(player).play(EVENTS);
    }

    /** Replays the trace twice and asks the arena. The time says nothing. */
    @Benchmark
    @BenchmarkMode(Mode.SingleShotTime)
    @Fork(1)
    @Warmup(iterations = 0)
    @Measurement(iterations = 1)
    public void memory(Counted counted) {
        final int events = Workload.of(trace, 0).events().length;
        Objects.requireNonNull(player).play(events);
        final long callsBefore = device.calls();
        player.play(events);
        final AllocatorStats stats = Objects.requireNonNull(arena).stats();
        counted.heldBytes = stats.bytesHeld();
        counted.peakBytes = stats.peakBytesInUse();
        counted.deviceCalls = device.calls() - callsBefore;
        counted.unplannedAllocations = stats.numAllocs()
                - stats.counter("PlannedAllocs")
                        .map(AllocatorStats.Counter::value)
                        .orElse(0L);
    }
}
