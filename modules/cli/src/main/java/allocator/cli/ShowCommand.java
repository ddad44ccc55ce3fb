package allocator.cli;

import allocator.cli.output.Terminal;
import allocator.cli.text.RecordingJson;
import allocator.cli.text.RecordingText;
import allocator.cli.text.SnapshotSummaryJson;
import allocator.cli.text.SnapshotText;
import allocator.cli.text.TraceJson;
import allocator.cli.text.TraceText;
import allocator.runtime.Environment;
import allocator.runtime.ProviderDevice;
import allocator.runtime.snapshot.Snapshot;
import allocator.trace.Trace;
import allocator.trace.TraceSummary;
import allocator.view.Page;
import allocator.view.SnapshotException;
import allocator.view.SnapshotFile;
import allocator.view.TorchSnapshot;
import allocator.view.recording.Recording;
import allocator.view.recording.RecordingException;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Shows a snapshot, a recording of the flight recorder, or a trace. */
@Command(
        name = "show",
        sortOptions = false,
        synopsisHeading = "%nUsage: ",
        parameterListHeading = "%n",
        optionListHeading = "%n",
        header = "Shows a snapshot, a recording of the flight recorder, or a trace; as text and as a page.",
        footer = {
            "",
            "A snapshot is what the option memory.snapshot_on_failure=DIR writes when a",
            "request fails, or what Environment.snapshot() returns, as JSON. The page is one",
            "file that needs no network. That of a trace is made by a replay on a device:",
            "the options for providers and devices are for it. A recording is made with",
            "-XX:StartFlightRecording:settings=java-allocator.jfc,filename=FILE.",
            "",
            "Exit codes: 0 success, 1 the file is none of them, 2 wrong usage."
        })
final class ShowCommand extends DeviceCommand {
    @Parameters(paramLabel = "FILE", description = "A snapshot, a recording, a trace, or the name of a bundled trace.")
    private String file = "";

    @Option(names = "--html", paramLabel = "FILE", description = "Write the page to this file.")
    private @Nullable Path html;

    @Option(
            names = "--pickle",
            paramLabel = "FILE",
            description = "Write a snapshot in PyTorch's format, for its viewer memory_viz.")
    private @Nullable Path pickle;

    ShowCommand(Terminal terminal) {
        super(terminal);
    }

    @Override
    public Integer call() {
        final OutputFile json = jsonOutput();
        final OutputFile page = outputFile("--html", html);
        final OutputFile torch = outputFile("--pickle", pickle);
        requireNoOutput(file);
        file = InputFile.of(file);
        requireContent(file, "neither a snapshot, a recording nor a trace");
        if (isSnapshot()) {
            showSnapshot(json, page, torch);
        } else if (torch == null && Recording.looksLikeOne(Path.of(file))) {
            showRecording(json, page);
        } else if (torch != null) {
            throw new UsageException("--pickle is for a snapshot, and " + file + " is none");
        } else {
            showTrace(json, page);
        }
        if (page != null && !isJsonOnly()) {
            out().println();
            out().println("page written: " + page.path());
        }
        out().flush();
        return 0;
    }

    private boolean isSnapshot() {
        try {
            return SnapshotFile.looksLikeOne(Path.of(file));
        } catch (InvalidPathException e) {
            throw new UsageException(file + ": " + e.getReason(), e);
        }
    }

    private void showSnapshot(@Nullable OutputFile json, @Nullable OutputFile page, @Nullable OutputFile torch) {
        final Snapshot snapshot;
        try {
            snapshot = SnapshotFile.read(Path.of(file));
        } catch (SnapshotException e) {
            throw new CommandException(e.getMessage(), e);
        }
        show(() -> new SnapshotText(terminal()).print(snapshot), () -> SnapshotSummaryJson.of(snapshot), json);
        if (page != null) {
            page.write(Page.of(String.valueOf(Path.of(file).getFileName()), snapshot));
        }
        if (torch != null) {
            torch.write(TorchSnapshot.of(snapshot));
        }
    }

    private void showRecording(@Nullable OutputFile json, @Nullable OutputFile page) {
        final Recording recording;
        try {
            recording = Recording.read(Path.of(file));
        } catch (RecordingException e) {
            throw new CommandException(e.getMessage(), e);
        }
        final String name = String.valueOf(Path.of(file).getFileName());
        show(() -> new RecordingText(terminal()).print(name, recording), () -> RecordingJson.of(recording), json);
        if (page != null) {
            page.write(Page.of(name, recording.timeline()));
        }
    }

    private void showTrace(@Nullable OutputFile json, @Nullable OutputFile page) {
        final Trace trace = NamedTrace.read(file, terminal());
        final TraceSummary summary = TraceSummary.of(trace);
        show(() -> new TraceText(terminal()).print(summary), () -> TraceJson.of(summary), json);
        if (page != null) {
            page.write(profile(trace));
        }
    }

    private String profile(Trace trace) {
        final Environment environment = openEnvironment();
        try {
            final ProviderDevice device = chooseDevice(environment);
            return new ProfilePage(environment, device, settings(environment, device.provider()), terminal())
                    .of(trace, List.of());
        } finally {
            close(environment);
        }
    }
}
