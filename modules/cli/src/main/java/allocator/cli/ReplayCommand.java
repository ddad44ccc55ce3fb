package allocator.cli;

import allocator.cli.output.ProgressBar;
import allocator.cli.output.Sizes;
import allocator.cli.output.Terminal;
import allocator.runtime.Environment;
import allocator.runtime.ProviderDevice;
import allocator.spi.AllocatorException;
import allocator.trace.Replay;
import allocator.trace.ReplayResult;
import allocator.trace.Trace;
import java.util.ArrayList;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Replays traces through a session. */
@Command(
        name = "replay",
        sortOptions = false,
        synopsisHeading = "%nUsage: ",
        parameterListHeading = "%n",
        header = "Replays allocation traces through a session and shows memory and time.",
        footer = {
            "",
            "Bundled traces, of real models: gpt2, bert, frcnn, llama_train, resnet,",
            "two_streams. A file is CSV, plain or gzip, with the header op,id,bytes,stream.",
            "",
            "Time per event is that of the whole call through the session: first is the",
            "first replay, cold one with an empty arena and warm one with a filled arena,",
            "both with warmed-up code.",
            "",
            "Exit codes: 0 success, 1 the work failed, 2 wrong usage."
        })
final class ReplayCommand extends DeviceCommand {
    @Parameters(
            paramLabel = "TRACE",
            arity = "0..*",
            description = "A file, or the name of a bundled trace. Default: gpt2.")
    private List<String> traces = new ArrayList<>();

    @Option(names = "--strict", description = "Exit with 1 if an allocation failed for lack of memory.")
    private boolean strict;

    @Option(names = "--once", description = "Replay each trace only once, without measuring cold and warm times.")
    private boolean once;

    @Option(names = "--bytes", description = "Show exact bytes where several traces share a table.")
    private boolean exactBytes;

    ReplayCommand(Terminal terminal) {
        super(terminal);
    }

    @Override
    public Integer call() {
        final OutputFile json = jsonOutput();
        final List<Trace> loaded = load();
        final List<ReplayResult> results = new ArrayList<>();
        final Environment environment = openEnvironment();
        try {
            final ProviderDevice device = chooseDevice(environment);
            final Replay replay = new Replay(environment, device, settings(environment, device.provider()));
            try (ProgressBar bar = new ProgressBar(terminal())) {
                for (final Trace trace : loaded) {
                    results.add(replay(replay, trace, bar, results.size(), loaded.size()));
                }
            }
        } finally {
            close(environment);
        }
        if (isJsonOnly()) {
            out().print(ReplayJson.of(results));
        } else {
            new ReplayText(terminal(), exactBytes).print(results);
        }
        // Flushed first, so that a file that cannot be written does not cost the text.
        out().flush();
        if (json != null) {
            json.write(ReplayJson.of(results));
            out().println();
            out().println("written: " + json.path());
            out().flush();
        }
        if (strict) {
            requireNoFailure(results);
        }
        return 0;
    }

    private List<Trace> load() {
        return (traces.isEmpty() ? Trace.bundledNames().subList(0, 1) : traces)
                .stream().map(NamedTrace::read).toList();
    }

    private ReplayResult replay(Replay replay, Trace trace, ProgressBar bar, int index, int count) {
        final String which = count == 1 ? trace.name() : trace.name() + " (" + (index + 1) + " of " + count + ")";
        try {
            return once
                    ? replay.once(trace, (done, step) -> bar.show((index + done) / count, which + ": " + step))
                    : replay.measure(trace, (done, step) -> bar.show((index + done) / count, which + ": " + step));
        } catch (AllocatorException e) {
            throw new CommandException(trace.name() + ": " + e.getMessage(), e);
        }
    }

    private static void requireNoFailure(List<ReplayResult> results) {
        for (final ReplayResult result : results) {
            if (result.failedAllocations() > 0) {
                throw new CommandException(result.trace() + ": " + Sizes.exact(result.failedAllocations()) + " of "
                        + Sizes.exact(result.allocations()) + " allocations failed for lack of memory (--strict)");
            }
        }
    }
}
