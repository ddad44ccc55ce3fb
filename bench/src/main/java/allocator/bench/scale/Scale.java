package allocator.bench.scale;

import allocator.bench.page.KeptPage;
import allocator.bench.pairs.Machine;
import java.io.IOException;
import java.io.PrintStream;
import java.time.Duration;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import java.util.logging.Level;
import java.util.logging.Logger;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Shows how costs grow with the number of blocks, streams, sessions and threads, and whether tables shrink again. */
@Command(
        name = "bench/run scale",
        sortOptions = false,
        usageHelpAutoWidth = true,
        mixinStandardHelpOptions = true,
        exitCodeOnExecutionException = 2,
        description = "Measures operations beside N/100, N/10 and N blocks, streams, sessions or threads.")
public final class Scale implements Callable<Integer> {
    private static final Logger LOGGER = Logger.getLogger("allocator");
    private static final Duration WINDOW = Duration.ofMillis(100);

    @Option(names = "--of", split = ",", paramLabel = "NAME", description = "Beside what (default: everything).")
    private List<String> names =
            Arrays.stream(CrowdType.values()).map(CrowdType::toString).toList();

    @Option(names = "--divide-by", paramLabel = "N", description = "Makes every N so many times smaller.")
    private int divisor = 1;

    @Option(names = "--warm-up", hidden = true, paramLabel = "SECONDS", description = "Before each crowd.")
    private int warmUpSeconds = 3;

    @Mixin
    private final KeptPage kept = new KeptPage();

    private final StringBuilder report = new StringBuilder();
    private final PrintStream out;

    private Scale(PrintStream out) {
        this.out = out;
    }

    /** Measures and returns the exit status. */
    static int execute(PrintStream out, String... args) {
        return new CommandLine(new Scale(out)).execute(args);
    }

    /**
     * Measures and ends the JVM.
     *
     * @param args the options
     */
    public static void main(String[] args) {
        LOGGER.setLevel(Level.SEVERE);
        System.exit(execute(System.out, args));
    }

    @Override
    public Integer call() throws IOException {
        final List<CrowdType> types = names.stream().map(this::parse).toList();
        if (divisor < 1) {
            throw kept.failure("--divide-by takes numbers from 1");
        }
        kept.requireName();
        print("# Costs beside many\n");
        print("- machine: " + Machine.description());
        print("- JDK: " + Machine.jdk());
        print("- commit: " + kept.commit());
        print("- date: " + LocalDate.now(ZoneOffset.UTC));
        print("- load average: " + Machine.load() + " before\n");
        print("""
                Nanoseconds of processor time; of threads that of the process. The power is that of the number with which
                the cost grew over the steeper of two steps, each tenfold: 0 is constant, 1 linear, a logarithm about 0.1.
                Caches make it larger, as malloc shows.""");
        for (final CrowdType type : types) {
            print(CrowdMeter.measure(type, Math.max(100, type.most() / divisor), warmUpSeconds, WINDOW));
        }
        print("\nLoad average: " + Machine.load() + " after.");
        kept.write(report);
        return 0;
    }

    private CrowdType parse(String text) {
        return Arrays.stream(CrowdType.values())
                .filter(type -> type.toString().equals(text))
                .findFirst()
                .orElseThrow(() -> kept.failure("nothing is called '" + text + "'; there are "
                        + String.join(
                                ", ",
                                Arrays.stream(CrowdType.values())
                                        .map(CrowdType::toString)
                                        .toList())));
    }

    private void print(CrowdMeter.Result result) {
        final StringBuilder head = new StringBuilder("| " + result.type() + " |");
        result.sizes().forEach(size -> head.append(String.format(Locale.ROOT, " %,d |", size)));
        print("\n## " + result.type().description() + "\n");
        print(head + " power |");
        print("|---|" + "---|".repeat(result.sizes().size()) + "---|");
        result.costs().forEach(costs -> print(costs.toRow()));
        print(String.format(
                Locale.ROOT,
                "%nJava heap: %,d KiB more with all, %,d KiB more when all have ended.",
                result.heapAtMost() >> 10,
                result.heapAtEnd() >> 10));
    }

    private void print(String line) {
        out.println(line);
        report.append(line).append('\n');
    }
}
