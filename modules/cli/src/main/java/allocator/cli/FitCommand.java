package allocator.cli;

import allocator.cli.output.Json;
import allocator.cli.output.ProgressBar;
import allocator.cli.output.Sizes;
import allocator.cli.output.Terminal;
import allocator.view.Report;
import allocator.view.Report.Row;
import allocator.view.Report.Table;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** Predicts the memory of sizes that are never run. */
@Command(
        name = "fit",
        optionListHeading = "%n",
        header = "Predicts the peak of an ONNX model at sizes that are never run.",
        footer = {
            "",
            "Write a name for the dimension that varies: --shape x=Nx128. It may stand for",
            "several dimensions, of several inputs.",
            "",
            "It runs small sizes for up to half a minute, and one more to check what they",
            "predict. Exit codes: 0 the largest size within the limit is known; 1 it is not,",
            "or not even 1 fits; 2 wrong usage."
        })
final class FitCommand extends ModelCommand {
    @Option(
            names = "--limit",
            paramLabel = "BYTES",
            required = true,
            converter = PlanCommand.Size.class,
            description = "The most that a session may have in use, weights included, such as 512m or 2GiB.")
    private long limit;

    FitCommand(Terminal terminal) {
        super(terminal);
    }

    @Override
    public Integer call() {
        final OutputFile jsonFile = jsonOutput();
        final Map<String, String> settings = shapes();
        final ModelProcess process = process();
        settings.put("limit", String.valueOf(limit));
        final Json fit;
        try (ProgressBar bar = new ProgressBar(terminal())) {
            bar.show(0, "runs");
            fit = process.run("fit", settings);
        }
        final boolean isKnown = Boolean.TRUE.equals(fit.fields().get("known"));
        final List<Row> rows = new ArrayList<>();
        for (final Json run : fit.objects("runs")) {
            rows.add(row(run.number("n"), run.number("peak"), -1, run.number("predicted")));
        }
        for (final Json prediction : fit.objects("predictions")) {
            rows.add(row(prediction.number("n"), -1, prediction.number("peak"), prediction.number("peak")));
        }
        final List<String> notes = new ArrayList<>();
        final long largest = fit.number("largest");
        final String within = Sizes.human(limit) + " (" + Sizes.exact(limit) + " bytes)";
        if (isKnown && largest > 0) {
            notes.add("The largest that fits " + within + ", with 1 % to spare, is " + Sizes.exact(largest) + ".");
            notes.add("These are requested bytes; allocator doctor measures what an arena holds beside them.");
            notes.add("There the peak is " + polynomial((List<?>) fit.fields().get("polynomial")) + " bytes.");
        }
        fit.objects("changes")
                .forEach(change -> notes.add("Between " + change.number("from") + " and " + change.number("to")
                        + " ONNX Runtime allocates otherwise."));
        if (!fit.text("failure").isEmpty()) {
            notes.add(fit.text("failure"));
        }
        show(
                new Report(
                        subject(),
                        List.of(new Table("Peak, in bytes", List.of("N", "measured", "predicted"), rows, notes))),
                fit,
                jsonFile,
                null);
        if (!isKnown) {
            throw new CommandException(model() + ": the largest size within " + within + " is not known"
                    + (largest == 0 ? "" : ", " + Sizes.exact(largest) + " fits")
                    + ": the last run confirms no prediction that reaches it");
        }
        if (largest == 0) {
            throw new CommandException(model() + ": not even 1 fits " + within);
        }
        return 0;
    }

    private static Row row(long n, long measured, long bar, long predicted) {
        return new Row(
                List.of(
                        Sizes.exact(n),
                        measured < 0 ? "" : Sizes.exact(measured),
                        predicted < 0 ? "" : Sizes.exact(predicted)),
                Math.max(measured, bar));
    }

    private static String polynomial(@Nullable List<?> coefficients) {
        final StringBuilder text = new StringBuilder();
        final String[] powers = {"", " N", " N²"};
        for (int i = 0; coefficients != null && i < powers.length; i++) {
            final double coefficient = ((Number) coefficients.get(i)).doubleValue();
            if (coefficient != 0) {
                text.append(text.isEmpty() ? "" : " + ")
                        .append(String.format(Locale.ROOT, "%,.3f", coefficient).replaceAll("\\.?0+$", ""))
                        .append(powers[i]);
            }
        }
        return text.toString();
    }
}
