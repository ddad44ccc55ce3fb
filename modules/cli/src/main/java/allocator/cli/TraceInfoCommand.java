package allocator.cli;

import allocator.cli.output.Terminal;
import allocator.cli.report.TraceJson;
import allocator.cli.report.TraceText;
import allocator.trace.TraceSummary;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

/** Shows what a trace holds. */
@Command(
        name = "info",
        sortOptions = false,
        synopsisHeading = "%nUsage: ",
        parameterListHeading = "%n",
        optionListHeading = "%n",
        header = "Shows what a trace holds: events, peaks, lifetimes, streams and sizes.",
        footer = {
            "",
            "A lifetime is the number of events from a block's allocation to its free.",
            "",
            "Exit codes: 0 success, 1 the file is no trace, 2 wrong usage."
        })
final class TraceInfoCommand extends ResultCommand {
    @Parameters(paramLabel = "TRACE", description = "A file, or the name of a bundled trace.")
    private String trace = "";

    TraceInfoCommand(Terminal terminal) {
        super(terminal);
    }

    @Override
    public Integer call() {
        final OutputFile json = jsonOutput();
        final TraceSummary summary = TraceSummary.of(NamedTrace.read(trace));
        if (isJsonOnly()) {
            out().print(TraceJson.of(summary));
        } else {
            new TraceText(terminal()).print(summary);
        }
        out().flush();
        if (json != null) {
            json.write(TraceJson.of(summary));
        }
        return 0;
    }
}
