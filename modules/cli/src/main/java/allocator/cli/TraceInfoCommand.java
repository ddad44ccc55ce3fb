package allocator.cli;

import allocator.cli.output.Terminal;
import allocator.cli.text.TraceJson;
import allocator.cli.text.TraceText;
import allocator.trace.TraceSummary;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

/** Shows what a trace holds. */
@Command(
        name = "info",
        optionListHeading = "%n",
        header = "Shows what a trace holds: events, peaks, lifetimes, streams and sizes.",
        footer = {
            "",
            "A lifetime is the number of events from a block's allocation to its free.",
            "",
            "Exit codes: 0 success, 1 the file is no trace, 2 wrong usage."
        })
final class TraceInfoCommand extends ResultCommand {
    @Parameters(paramLabel = "TRACE", description = "A file, - for standard input, or the name of a bundled trace.")
    private String trace = "";

    TraceInfoCommand(Terminal terminal) {
        super(terminal);
    }

    @Override
    public Integer call() {
        final OutputFile json = jsonOutput();
        requireNoOutput(trace);
        final TraceSummary summary = TraceSummary.of(NamedTrace.read(InputFile.of(trace), terminal()));
        show(() -> new TraceText(terminal()).print(summary), () -> TraceJson.of(summary), json);
        return 0;
    }
}
