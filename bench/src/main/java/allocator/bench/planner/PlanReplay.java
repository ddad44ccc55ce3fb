package allocator.bench.planner;

import allocator.bench.page.KeptPage;
import allocator.bench.pairs.Machine;
import allocator.bench.pairs.MeasuringProcess;
import allocator.bench.planner.PlanReplayMeasurement.Figures;
import allocator.plan.Instance;
import allocator.plan.Lifetime;
import allocator.plan.Plan;
import allocator.plan.PlanFile;
import allocator.planner.Planner;
import allocator.trace.Trace;
import java.io.IOException;
import java.io.PrintStream;
import java.lang.management.ManagementFactory;
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
    private static final int LONGEST_MINUTES = 10;

    @Parameters(paramLabel = "TRACE", description = "Bundled traces (default: all).")
    private List<String> names = new ArrayList<>();

    @Option(names = "--seconds", paramLabel = "S", description = "Plan each trace no longer than this (default: 2).")
    private int seconds = 2;

    @Option(
            names = "--events",
            paramLabel = "N",
            description = "Replay so many events to warm up, and measure as many.")
    private long events = 10_000_000;

    @Option(names = "--rounds", paramLabel = "N", description = "JVMs with and without the plan (default: 3).")
    private int rounds = 3;

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
    public Integer call() throws IOException, InterruptedException {
        kept.requireName();
        if (rounds < 1) {
            throw kept.failure("--rounds takes a number above zero: " + rounds);
        }
        print("# Replays of planned traces\n");
        print("- machine: " + Machine.description());
        print("- JDK: " + Machine.jdk());
        print("- commit: " + kept.commit());
        print("- date: " + LocalDate.now(ZoneOffset.UTC));
        print("- load average: " + Machine.load() + " before\n");
        print("Nanoseconds an event, an allocation or a free on a `BfcArena` without memory behind it, with best fit"
                + " alone and with\nthe plan, each in " + rounds + " warm JVMs of its own, in turn: the median JVM's"
                + " median replay, and the fastest replay of all. All\ncalls are made by one thread without"
                + " streams.\n");
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

    private void measure(String name, Trace trace) throws IOException, InterruptedException {
        final Path plan = Files.createTempFile("plan", ".csv");
        final List<Figures> planned = new ArrayList<>();
        final List<Figures> unplanned = new ArrayList<>();
        try {
            Files.writeString(plan, plan(trace));
            for (int round = 0; round < rounds; round++) {
                unplanned.add(replay(name, trace, List.of()));
                planned.add(replay(name, trace, List.of(plan.toString())));
            }
        } finally {
            Files.delete(plan);
        }
        final double medianUnplanned = median(unplanned);
        final double medianPlanned = median(planned);
        final Figures of = planned.getLast();
        print(String.format(
                Locale.ROOT,
                "| %s | %,d | %.1f | %.1f | %.1f | %.2f | %,d | %,d | %.3f | %d | %d |",
                name,
                trace.eventCount(),
                medianUnplanned,
                medianPlanned,
                planned.stream().mapToDouble(Figures::fastest).min().orElseThrow(),
                medianUnplanned / medianPlanned,
                unplanned.getLast().held(),
                of.held(),
                (double) of.held() / unplanned.getLast().peak(),
                of.calls(),
                of.unplanned()));
    }

    private Figures replay(String name, Trace trace, List<String> plan) throws IOException, InterruptedException {
        final List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(ManagementFactory.getRuntimeMXBean().getInputArguments());
        command.addAll(
                List.of("-cp", System.getProperty("java.class.path"), PlanReplayMeasurement.class.getName(), name));
        command.add(Long.toString(Math.max(3, events / trace.eventCount())));
        command.addAll(plan);
        return Figures.parse(MeasuringProcess.run(new ProcessBuilder(command), name, LONGEST_MINUTES)
                .getLast());
    }

    private static double median(List<Figures> figures) {
        final double[] sorted =
                figures.stream().mapToDouble(Figures::median).sorted().toArray();
        return sorted[sorted.length / 2];
    }

    /** Plans all streams as one, as one thread without streams replays them. */
    private String plan(Trace trace) {
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
        return PlanFile.text(ids, instance, plan);
    }

    private void print(String line) {
        out.println(line);
        report.append(line).append('\n');
    }
}
