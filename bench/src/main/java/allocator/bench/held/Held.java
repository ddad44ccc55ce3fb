package allocator.bench.held;

import allocator.bench.gpu.Measurements;
import allocator.bench.report.KeptPage;
import allocator.bench.report.Picture;
import allocator.bench.subject.SubjectType;
import allocator.trace.Trace;
import allocator.trace.TraceException;
import java.io.IOException;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import org.knowm.xchart.internal.chartpart.Chart;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Shows what allocators hold beside what lives: a table, and a picture. */
@Command(
        name = "bench/run held",
        sortOptions = false,
        usageHelpAutoWidth = true,
        mixinStandardHelpOptions = true,
        description = {
            "Replays traces once from an empty allocator, and shows what is held beside what lives.",
            "With --gpu it draws what a run on a GPU held instead, one bar for each trace and allocator."
        })
public final class Held implements Callable<Integer> {
    @Option(
            names = "--traces",
            split = ",",
            paramLabel = "NAME",
            description = "Bundled traces (default: ${DEFAULT-VALUE}).")
    private List<String> traces = List.of("gpt2", "bert", "frcnn");

    @Option(
            names = "--subjects",
            split = ",",
            paramLabel = "NAME",
            description = "Allocators that tell what they hold (default: ${DEFAULT-VALUE}).")
    private List<String> subjects = List.of("arena", "arena-slabs", "arena-compact");

    @Option(names = "--gpu", paramLabel = "NAME", description = "Draw bench/results/NAME.csv, of bench/gpu/run-bench.")
    private @Nullable String gpu;

    @Mixin
    private final KeptPage kept = new KeptPage();

    private final PrintStream out;

    private Held(PrintStream out) {
        this.out = out;
    }

    /** Runs the command and returns the exit status. */
    static int execute(PrintStream out, PrintStream err, String... args) {
        return new CommandLine(new Held(out))
                .setErr(new PrintWriter(err, true, err.charset()))
                .execute(args);
    }

    public static void main(String[] args) {
        System.exit(execute(System.out, System.err, args));
    }

    @Override
    public Integer call() throws IOException, TraceException {
        kept.requireName();
        kept.requireFileName("--gpu", gpu);
        final List<Chart<?, ?>> charts = new ArrayList<>();
        if (gpu != null) {
            final Path csv = kept.file(gpu + ".csv");
            if (Files.notExists(csv)) {
                throw kept.failure("no such file: " + csv);
            }
            charts.add(HeldCharts.ofGpu(Measurements.read(csv)));
        } else {
            replay(charts);
        }
        final Optional<Path> file = kept.kept(".svg");
        if (file.isPresent()) {
            System.setProperty("java.awt.headless", "true");
            Picture.write(charts, HeldCharts.HEIGHT, file.get());
            out.println(file.get());
        }
        return 0;
    }

    private void replay(List<Chart<?, ?>> charts) throws TraceException {
        final List<SubjectType> types;
        try {
            types = SubjectType.parse(subjects);
        } catch (IllegalArgumentException e) {
            throw kept.failure(String.valueOf(e.getMessage()));
        }
        for (final String trace : traces) {
            if (!Trace.bundledNames().contains(trace)) {
                throw kept.failure("no bundled trace is called '" + trace + "'; there are "
                        + String.join(", ", Trace.bundledNames()));
            }
        }
        out.println("| trace | allocator | live, MiB | held, MiB | held / live |");
        out.println("|---|---|---:|---:|---:|");
        for (final String trace : traces) {
            final List<TraceCourse> courses = new ArrayList<>();
            for (final SubjectType type : types) {
                final TraceCourse course = TraceCourse.of(type, Trace.bundled(trace));
                out.println(String.format(
                        Locale.ROOT,
                        "| %s | %s | %.1f | %.1f | %.3f |",
                        trace,
                        type,
                        course.peakLiveBytes() / (1 << 20),
                        course.peakHeldBytes() / (1 << 20),
                        course.heldOverLive()));
                courses.add(course);
            }
            charts.add(HeldCharts.overEvents(trace, courses));
        }
    }
}
