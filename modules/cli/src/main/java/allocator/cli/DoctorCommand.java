package allocator.cli;

import allocator.cli.output.Json;
import allocator.cli.output.ProgressBar;
import allocator.cli.output.Sizes;
import allocator.cli.output.Terminal;
import allocator.view.Report;
import allocator.view.Report.Row;
import allocator.view.Report.Table;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** Measures a model's memory, and which settings help. */
@Command(
        name = "doctor",
        optionListHeading = "%n",
        header = "Runs an ONNX model: what it holds, which layer has it, which setting helps.",
        footer = {
            "",
            "The model runs in processes of its own, with ONNX Runtime's own arena and with",
            "ours, on made-up inputs: random from 0 to 1, or 1 where elements are whole.",
            "Every figure is measured."
        })
final class DoctorCommand extends ModelCommand {
    /** A saving below this part of what was held is not worth a setting. */
    private static final double LEAST_PART = 0.01;

    private static final int MOST_SETTINGS = 3;
    private static final int MOST_SHARES = 10;

    @Option(
            names = "--gpu",
            paramLabel = "N",
            description = "Run on CUDA device N; the jar of ONNX Runtime is that of onnxruntime_gpu.")
    private @Nullable Integer gpu;

    @Option(
            names = "--burst",
            paramLabel = "FACTOR",
            description = "How much larger the batches of a burst are, where the first dimension is free. 1: no burst."
                    + " Default: 4.")
    private int burst = 4;

    @Option(
            names = "--seconds",
            paramLabel = "S",
            description = "How long each of the five configurations runs. Default: 4.")
    private double seconds = 4;

    @Option(names = "--html", paramLabel = "FILE", description = "Also write the result as a page.")
    private @Nullable Path html;

    /** What is measured. */
    private enum Configuration {
        OWN("ONNX Runtime's arena", "own", "true", ""),
        BEST_FIT("best-fit (default)", "", "", ""),
        COMPACT("compact", "option.arena.policy", "compact", "arena.policy=compact"),
        EXACT(
                "best-fit, regions as requested",
                "option.arena.extend_strategy",
                "1",
                "arena.extend_strategy=1 (also ONNX Runtime's own arena)"),
        NO_PATTERNS("best-fit, no memory patterns", "no-patterns", "true", "memory patterns off (a session option)");

        private final String text;
        private final String key;
        private final String value;
        private final String setting;

        Configuration(String text, String key, String value, String setting) {
            this.text = text;
            this.key = key;
            this.value = value;
            this.setting = setting;
        }
    }

    /** A setting and the bytes held without and with it. */
    private record Saving(String setting, long before, long after, double time) {
        private long bytes() {
            return before - after;
        }
    }

    DoctorCommand(Terminal terminal) {
        super(terminal);
    }

    @Override
    public Integer call() {
        if (burst < 1) {
            throw new UsageException("--burst " + burst + ": is less than 1");
        }
        if (!(seconds >= 0 && seconds <= 3600)) {
            throw new UsageException("--seconds " + seconds + ": is not from 0 to 3600");
        }
        if (gpu != null && gpu < 0) {
            throw new UsageException("--gpu " + gpu + ": is less than 0");
        }
        final OutputFile jsonFile = jsonOutput();
        final OutputFile page = outputFile("--html", html);
        final Map<String, String> settings = shapes();
        final ModelProcess process = process();
        if (gpu != null) {
            settings.put("gpu", gpu.toString());
        }
        final Map<Configuration, Json> measured = new LinkedHashMap<>();
        final Json profile;
        try (ProgressBar bar = new ProgressBar(terminal())) {
            bar.show(0, "profile");
            profile = process.run("profile", settings);
            burst = Math.clamp(profile.number("largest_burst"), 1, burst);
            for (final Configuration one : Configuration.values()) {
                bar.show((1.0 + measured.size()) / (1 + Configuration.values().length), one.text);
                measured.put(one, process.run("measure", settings(profile, one)));
            }
        }
        final List<Saving> savings = savings(measured);
        final Report report = new Report(
                (subject() + " on " + profile.text("memory")).strip(),
                List.of(
                        held(measured),
                        shares("The peak by kind", "kind", profile),
                        shares("The peak by layer", "layer", profile),
                        shares("The peak by operator", "operator", profile),
                        burst(measured),
                        advice(savings)));
        show(report, json(profile, measured, savings), jsonFile, page);
        return 0;
    }

    private Map<String, String> settings(Json profile, Configuration one) {
        final Map<String, String> settings = new TreeMap<>();
        ((Json) Objects.requireNonNull(profile.fields().get("inputs")))
                .fields()
                .forEach((name, input) -> settings.put("tensor." + name, String.valueOf(input)));
        settings.put("millis", String.valueOf((long) (seconds * 1000)));
        settings.put("burst", String.valueOf(burst));
        if (gpu != null) {
            settings.put("gpu", gpu.toString());
        }
        if (!one.key.isEmpty()) {
            settings.put(one.key, one.value);
        }
        return settings;
    }

    private static Table held(Map<Configuration, Json> measured) {
        final List<Row> rows = new ArrayList<>();
        measured.forEach((one, figures) -> rows.add(new Row(
                List.of(
                        one.text,
                        size(figures.number("held")),
                        size(figures.number("peak_in_use")),
                        size(figures.number("peak_resident")),
                        Sizes.time((double) figures.number("nanos"))),
                Math.max(0, figures.number("held")))));
        return new Table(
                "Memory",
                List.of("configuration", "held", "in use, peak", "resident, peak", "time a run"),
                rows,
                List.of("Resident is what the process has more than before it opened the model."));
    }

    private static Table shares(String title, String by, Json profile) {
        final List<Json> shares = profile.objects("by_" + by);
        final long peak = profile.number("peak");
        final List<Row> rows = new ArrayList<>();
        for (final Json share : shares.subList(0, Math.min(MOST_SHARES, shares.size()))) {
            final long bytes = share.number("bytes");
            rows.add(new Row(
                    List.of(
                            share.text("name"),
                            Sizes.exact(bytes),
                            String.format(Locale.ROOT, "%.1f %%", 100 * (double) bytes / (double) peak)),
                    bytes));
        }
        final int more = shares.size() - rows.size();
        return new Table(
                title + ": " + Sizes.human(peak) + " (" + Sizes.exact(peak) + " bytes)",
                List.of(by, "bytes", "share"),
                rows,
                more > 0 ? List.of("and " + more + " more") : List.of());
    }

    private Table burst(Map<Configuration, Json> measured) {
        final List<Row> rows = new ArrayList<>();
        measured.forEach((one, figures) -> {
            if (figures.fields().containsKey("burst_resident")) {
                rows.add(new Row(
                        List.of(
                                one.text,
                                size(figures.number("burst_held")),
                                size(figures.number("shrunk_held")),
                                size(figures.number("burst_resident")),
                                size(figures.number("shrunk_resident"))),
                        Math.max(0, figures.number("burst_held"))));
            }
        });
        return new Table(
                "After a burst of 3 runs with " + burst + " times the batch",
                List.of("configuration", "held", "held, shrunk", "resident", "resident, shrunk"),
                rows,
                rows.isEmpty() ? List.of("none: no input has a free first dimension, or --burst is 1") : List.of());
    }

    /** Returns the settings that help, the one that saves most first. */
    private static List<Saving> savings(Map<Configuration, Json> measured) {
        final Json usual = Objects.requireNonNull(measured.get(Configuration.BEST_FIT));
        final String held = usual.number("burst_held") < 0 ? "held" : "burst_held";
        final List<Saving> savings = new ArrayList<>();
        measured.forEach((one, figures) -> {
            if (!one.setting.isEmpty()) {
                savings.add(new Saving(
                        one.setting,
                        usual.number(held),
                        figures.number(held),
                        (double) figures.number("nanos") / (double) usual.number("nanos")));
            }
        });
        savings.add(new Saving(
                "shrink() after a burst", usual.number("burst_held"), usual.number("shrunk_held"), Double.NaN));
        savings.removeIf(saving -> saving.bytes() <= (long) (saving.before() * LEAST_PART));
        savings.sort(Comparator.comparingLong(Saving::bytes).reversed());
        return savings.subList(0, Math.min(MOST_SETTINGS, savings.size()));
    }

    private static Table advice(List<Saving> savings) {
        return new Table(
                "Settings worth changing: what best-fit holds at the end, and what it holds with one of them",
                List.of("setting", "without", "with it", "saves", "time"),
                savings.stream()
                        .map(saving -> new Row(
                                List.of(
                                        saving.setting,
                                        Sizes.human(saving.before),
                                        Sizes.human(saving.after),
                                        Sizes.human(saving.bytes()),
                                        Double.isNaN(saving.time) ? "-" : Sizes.ratio(saving.time) + " ×"),
                                saving.bytes()))
                        .toList(),
                savings.isEmpty() ? List.of("none of those measured saves 1 %") : List.of());
    }

    private static Json json(Json profile, Map<Configuration, Json> measured, List<Saving> savings) {
        final Json configurations = new Json();
        measured.forEach((one, figures) -> configurations.put(one.name().toLowerCase(Locale.ROOT), figures));
        return new Json()
                .put("profile", profile)
                .put("configurations", configurations)
                .put(
                        "settings",
                        savings,
                        saving -> new Json()
                                .put("setting", saving.setting)
                                .put("held", saving.before)
                                .put("held_with", saving.after)
                                .put("time_ratio", Double.isNaN(saving.time) ? null : saving.time));
    }

    private static String size(long bytes) {
        return bytes < 0 ? "-" : Sizes.human(bytes);
    }
}
