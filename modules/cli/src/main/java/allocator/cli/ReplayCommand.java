package allocator.cli;

import allocator.cli.PolicyText.PolicyResult;
import allocator.cli.output.ProgressBar;
import allocator.cli.output.Sizes;
import allocator.cli.output.Terminal;
import allocator.runtime.Environment;
import allocator.runtime.ProviderDevice;
import allocator.spi.AllocatorException;
import allocator.spi.AllocatorOptions;
import allocator.spi.UnsupportedMemoryException;
import allocator.trace.Replay;
import allocator.trace.ReplayListener;
import allocator.trace.ReplayResult;
import allocator.trace.Trace;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Replays traces through a session. */
@Command(
        name = "replay",
        header = "Replays allocation traces through a session and shows memory and time.",
        footer = {
            "",
            "Bundled traces, of real models: gpt2, bert, frcnn, llama_train, resnet,",
            "two_streams. A file is CSV, plain or gzip, with the header op,id,bytes,stream.",
            "",
            "Time per event is that of the whole call through the session: first is the",
            "first replay, cold one with an empty arena and warm one with a filled arena,",
            "both with warmed-up code. Page maps are those of the last warm replay.",
            "",
            "Without arguments the policies best-fit and compact are shown side by side.",
            "",
            "Exit codes: 0 success, 1 the work failed, 2 wrong usage, 4 more than half of",
            "the allocations of a replay failed for lack of memory."
        })
final class ReplayCommand extends DeviceCommand {
    /** The exit code of a replay in which more than half of the allocations failed. */
    private static final int MOSTLY_FAILED = 4;

    @Spec
    private @Nullable CommandSpec spec;

    @Parameters(
            paramLabel = "TRACE",
            arity = "0..*",
            description = "A file, or the name of a bundled trace. Default: gpt2.")
    private List<String> traces = new ArrayList<>();

    @Option(
            names = PolicyOption.NAME,
            paramLabel = "NAME[,NAME...]",
            description = "Replay with each of these values of arena.policy, and show them side by side, for instance%n"
                    + "best-fit,compact.")
    private @Nullable String policies;

    @Option(
            names = "--html",
            paramLabel = "FILE",
            description = "Also write a page that shows the memory of one trace, with the placement policies%n"
                    + "side by side.")
    private @Nullable Path html;

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
        final OutputFile page = outputFile("--html", html);
        if (page != null && traces.size() > 1) {
            throw new UsageException("--html shows one trace, and " + traces.size() + " are given");
        }
        traces.forEach(this::requireNoOutput);
        final List<String> named = policies == null ? List.of() : PolicyOption.parse(policies, settings());
        final List<Trace> loaded = load();
        final List<String> pages = new ArrayList<>();
        final List<List<PolicyResult>> traces = replay(loaded, named, page != null, pages);
        final List<PolicyResult> all = traces.stream().flatMap(List::stream).toList();
        final List<ReplayResult> results =
                all.stream().map(PolicyResult::result).toList();
        if (!isJsonOnly()) {
            all.stream()
                    .filter(ReplayCommand::mostlyFailed)
                    .forEach(one -> out().println(failures(one) + ": the figures are those of the others"));
        }
        if (isJsonOnly()) {
            out().print(ReplayJson.of(results));
        } else if (all.getFirst().policy().isEmpty()) {
            new ReplayText(terminal(), exactBytes).print(results);
        } else {
            new PolicyText(terminal(), exactBytes).print(traces);
        }
        // Flushed first, so that a file that cannot be written does not cost the text.
        out().flush();
        if (json != null) {
            json.write(ReplayJson.of(results));
            out().println();
            out().println("written: " + json.path());
            out().flush();
        }
        if (page != null) {
            page.write(pages.getFirst());
            if (!isJsonOnly()) {
                out().println();
                out().println("page written: " + page.path());
            }
            out().flush();
        }
        if (strict) {
            all.forEach(ReplayCommand::requireNoFailure);
        }
        return all.stream().anyMatch(ReplayCommand::mostlyFailed) ? MOSTLY_FAILED : 0;
    }

    private List<Trace> load() {
        return (traces.isEmpty() ? Trace.bundledNames().subList(0, 1) : traces)
                .stream()
                        .map(InputFile::of)
                        .map(name -> NamedTrace.read(name, terminal()))
                        .toList();
    }

    /** Replays each trace with each policy; returns a list for each trace. */
    private List<List<PolicyResult>> replay(
            List<Trace> loaded, List<String> named, boolean hasPage, List<String> pages) {
        final Environment environment = openEnvironment();
        try {
            final ProviderDevice device = chooseDevice(environment);
            if (hasPage) {
                final AllocatorOptions given = settings(environment, device.provider());
                pages.add(new ProfilePage(environment, device, given, terminal()).of(loaded.getFirst(), named));
            }
            if (isAlone() && PolicyOption.hasUsual(environment, device.provider())) {
                try {
                    return replay(loaded, PolicyOption.USUAL, environment, device);
                } catch (UnsupportedMemoryException _) {
                    // This device has no pages: the default alone is shown.
                }
            }
            return replay(loaded, named, environment, device);
        } finally {
            close(environment);
        }
    }

    /** Returns whether the user asked for nothing. */
    private boolean isAlone() {
        return Objects.requireNonNull(spec)
                .commandLine()
                .getParseResult()
                .matchedArgs()
                .isEmpty();
    }

    private List<List<PolicyResult>> replay(
            List<Trace> loaded, List<String> named, Environment environment, ProviderDevice device) {
        final AllocatorOptions given = settings(environment, device.provider());
        final List<Replay> replays = (named.isEmpty()
                        ? List.of(given)
                        : PolicyOption.settings(
                                named,
                                policies == null ? PolicyOption.USUAL_ORIGIN : PolicyOption.NAME,
                                given,
                                environment,
                                device.provider()))
                .stream()
                        .map(settings -> new Replay(environment, device, settings))
                        .toList();
        final List<List<PolicyResult>> all = new ArrayList<>();
        try (ProgressBar bar = new ProgressBar(terminal())) {
            for (final Trace trace : loaded) {
                final List<ReplayResult> results = replay(replays, trace, bar, all.size(), loaded.size());
                all.add(IntStream.range(0, results.size())
                        .mapToObj(i -> new PolicyResult(named.isEmpty() ? "" : named.get(i), results.get(i)))
                        .toList());
            }
        }
        return all;
    }

    private List<ReplayResult> replay(List<Replay> replays, Trace trace, ProgressBar bar, int index, int count) {
        final String which = count == 1 ? trace.name() : trace.name() + " (" + (index + 1) + " of " + count + ")";
        final ReplayListener listener = (done, step) -> bar.show((index + done) / count, which + ": " + step);
        try {
            if (!once) {
                return Replay.measure(replays, trace, listener);
            }
            final List<ReplayResult> results = new ArrayList<>();
            for (final Replay replay : replays) {
                final int before = results.size();
                results.add(
                        replay.once(trace, (done, step) -> listener.progress((before + done) / replays.size(), step)));
            }
            return results;
        } catch (UnsupportedMemoryException e) {
            throw isAlone() ? e : failure(trace, e);
        } catch (AllocatorException e) {
            throw failure(trace, e);
        }
    }

    private static CommandException failure(Trace trace, AllocatorException e) {
        return new CommandException(trace.name() + ": " + e.getMessage(), e);
    }

    private static void requireNoFailure(PolicyResult one) {
        final ReplayResult result = one.result();
        if (result.failedAllocations() > 0) {
            throw new CommandException(failures(one) + " (--strict)");
        }
    }

    /** Whether the figures say little, as they are those of less than half of the allocations. */
    private static boolean mostlyFailed(PolicyResult one) {
        return one.result().failedAllocations() > one.result().allocations() / 2;
    }

    private static String failures(PolicyResult one) {
        final ReplayResult result = one.result();
        return result.trace() + (one.policy().isEmpty() ? "" : " with " + one.policy()) + ": "
                + Sizes.exact(result.failedAllocations()) + " of " + Sizes.exact(result.allocations())
                + " allocations failed for lack of memory";
    }
}
