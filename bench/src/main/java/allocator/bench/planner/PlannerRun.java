package allocator.bench.planner;

import allocator.bench.page.KeptPage;
import allocator.bench.pairs.Machine;
import allocator.plan.Instance;
import allocator.plan.Plan;
import allocator.plan.PlanFile;
import allocator.planner.Planner;
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
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Measures how long it takes to fit MiniMalloc's inputs into their capacity, beside MiniMalloc. */
@Command(
        name = "bench/run planner",
        sortOptions = false,
        usageHelpAutoWidth = true,
        mixinStandardHelpOptions = true,
        exitCodeOnExecutionException = 2,
        description = "Measures how long it takes to fit MiniMalloc's inputs into their capacity.")
public final class PlannerRun implements Callable<Integer> {
    @Option(names = "--minimalloc", paramLabel = "BINARY", description = "MiniMalloc, to be measured beside ours.")
    private @Nullable Path minimalloc;

    @Option(
            names = "--inputs",
            paramLabel = "FOLDER",
            description = "Files named NAME.CAPACITY.csv (default: MiniMalloc's challenging ones).")
    private Path inputs = Path.of("modules/planner/src/test/resources/allocator/planner/minimalloc");

    @Option(names = "--rounds", paramLabel = "N", description = "Plan every input so often (default: 5).")
    private int rounds = 5;

    @Option(names = "--warm-up", paramLabel = "SECONDS", description = "Before the first round (default: 20).")
    private int warmUpSeconds = 20;

    @Option(names = "--limit", paramLabel = "SECONDS", description = "The most for one plan of ours (default: 60).")
    private int limitSeconds = 60;

    @Mixin
    private final KeptPage kept = new KeptPage();

    private final StringBuilder report = new StringBuilder();
    private final PrintStream out;

    private PlannerRun(PrintStream out) {
        this.out = out;
    }

    /** An input, and the seconds of each round. */
    private static final class Input {
        final Path file;
        final long capacity;
        final Instance instance;
        final List<Double> ours = new ArrayList<>();
        final List<Double> theirs = new ArrayList<>();
        long steps;
        boolean fits = true;

        Input(Path file) throws IOException {
            this.file = file;
            capacity = Long.parseLong(file.getFileName().toString().split("\\.", -1)[1]);
            instance = PlanFile.read(file).instance();
        }
    }

    /** Measures and returns the exit status. */
    static int execute(PrintStream out, String... args) {
        return new CommandLine(new PlannerRun(out)).execute(args);
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
        if (rounds < 1) {
            throw kept.failure("--rounds takes numbers from 1");
        }
        final List<Input> all = new ArrayList<>();
        try (Stream<Path> files = Files.list(inputs)) {
            for (final Path file :
                    files.filter(f -> f.toString().endsWith(".csv")).sorted().toList()) {
                all.add(new Input(file));
            }
        }
        printHead();
        warmUp(all);
        for (int round = 0; round < rounds; round++) {
            for (final Input input : all) {
                measure(input);
            }
        }
        printTable(all);
        kept.write(report);
        return all.stream().allMatch(input -> input.fits) ? 0 : 1;
    }

    private void printHead() {
        print("# Planning beside MiniMalloc\n");
        print("- machine: " + Machine.description());
        print("- JDK: " + Machine.jdk());
        print("- commit: " + kept.commit());
        print("- date: " + LocalDate.now(ZoneOffset.UTC));
        print("- load average: " + Machine.load() + " before\n");
        print("Processor seconds, the median of " + rounds + " rounds: of the planning thread, in a JVM that "
                + "had planned for " + warmUpSeconds
                + " s;\nof MiniMalloc's whole process, in hundredths. Both look for a plan within the"
                + " capacity. A ratio is MiniMalloc's time\nover ours.\n");
    }

    private void warmUp(List<Input> all) {
        final long end = System.nanoTime() + Duration.ofSeconds(warmUpSeconds).toNanos();
        while (System.nanoTime() < end) {
            all.forEach(this::plan);
        }
    }

    private Plan plan(Input input) {
        return Planner.builder()
                .capacity(input.capacity)
                .timeLimit(Duration.ofSeconds(limitSeconds))
                .build()
                .plan(input.instance);
    }

    private void measure(Input input) throws IOException {
        final long before = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
        final Plan plan = plan(input);
        input.ours.add((ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime() - before) / 1e9);
        input.steps = plan.steps();
        input.fits &= plan.fits(input.capacity);
        if (minimalloc != null) {
            input.theirs.add(new MiniMalloc(minimalloc).seconds(input.file, input.capacity));
        }
    }

    private void printTable(List<Input> all) {
        print("| input | blocks | fits | steps | ours | MiniMalloc | ratio |");
        print("|---|---:|---|---:|---:|---:|---:|");
        double ours = 0;
        double theirs = 0;
        for (final Input input : all) {
            final double our = median(input.ours);
            final double their = median(input.theirs);
            ours += our;
            theirs += their;
            print(String.format(
                    Locale.ROOT,
                    "| %s | %d | %s | %,d | %.4f | %s | %s |",
                    input.file.getFileName().toString().split("\\.", -1)[0],
                    input.instance.size(),
                    input.fits ? "yes" : "no",
                    input.steps,
                    our,
                    text("%.2f", their),
                    text("%.0f", their / our)));
        }
        print(String.format(
                Locale.ROOT,
                "| all | | | | %.4f | %s | %s |",
                ours,
                text("%.2f", theirs),
                text("%.0f", theirs / ours)));
        print("\nLoad average: " + Machine.load() + " after.");
    }

    private static double median(List<Double> values) {
        final double[] sorted =
                values.stream().mapToDouble(Double::doubleValue).sorted().toArray();
        return sorted.length == 0
                ? Double.NaN
                : Arrays.stream(sorted, (sorted.length - 1) / 2, sorted.length / 2 + 1)
                        .average()
                        .orElse(Double.NaN);
    }

    private static String text(String format, double value) {
        return Double.isNaN(value) ? "" : String.format(Locale.ROOT, format, value);
    }

    private void print(String line) {
        out.println(line);
        report.append(line).append('\n');
    }
}
