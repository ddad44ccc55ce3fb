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
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
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
            "-XX:StartFlightRecording:settings=java-allocator.jfc,filename=FILE;",
            "--settings java-allocator.jfc writes these settings, and needs no other file.",
            "",
            "Exit codes: 0 success, 1 the file is none of them, 2 wrong usage."
        })
final class ShowCommand extends DeviceCommand {
    /** In the root of the jar java-allocator-provider-support. */
    private static final String RECORDER_SETTINGS = "java-allocator.jfc";

    @Parameters(
            arity = "0..*",
            paramLabel = "FILE",
            description = "A snapshot, a recording, a trace, or the name of a bundled trace. Of several files, the one"
                    + " written last is shown.")
    private List<String> inputs = List.of();

    private String file = "";

    @Option(names = "--html", paramLabel = "FILE", description = "Write the page to this file.")
    private @Nullable Path html;

    @Option(
            names = "--pickle",
            paramLabel = "FILE",
            description = "Write a snapshot in PyTorch's format, for its viewer memory_viz.")
    private @Nullable Path pickle;

    @Option(names = "--settings", paramLabel = "FILE", description = "Write the settings of recordings to this file.")
    private @Nullable Path settings;

    ShowCommand(Terminal terminal) {
        super(terminal);
    }

    @Override
    public Integer call() {
        final OutputFile json = jsonOutput();
        final OutputFile page = outputFile("--html", html);
        final OutputFile torch = outputFile("--pickle", pickle);
        final OutputFile recorder = outputFile("--settings", settings);
        if (inputs.isEmpty() && recorder == null) {
            throw new UsageException("Missing required parameter: 'FILE'");
        }
        inputs.forEach(this::requireNoOutput);
        if (recorder != null) {
            recorder.write(recorderSettings());
            if (!isJsonOnly()) {
                out().println("settings written: " + recorder.path());
            }
        }
        if (inputs.isEmpty()) {
            out().flush();
            return 0;
        }
        file = InputFile.of(inputs.size() == 1 ? inputs.getFirst() : newest());
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

    /** Returns the newest of several files, such as those that a pattern of the shell stands for. */
    private String newest() {
        for (final String name : inputs) {
            if (!new File(name).isFile()) {
                throw new UsageException(name + ": no such file, and of several the newest is shown");
            }
        }
        final String newest = Collections.max(inputs, Comparator.comparingLong(name -> new File(name).lastModified()));
        terminal().err().println("allocator: of " + inputs.size() + " files, this is the newest: " + newest);
        return newest;
    }

    private static byte[] recorderSettings() {
        try (InputStream settings = Objects.requireNonNull(
                ShowCommand.class.getClassLoader().getResourceAsStream(RECORDER_SETTINGS), RECORDER_SETTINGS)) {
            return settings.readAllBytes();
        } catch (IOException e) {
            throw new CommandException(RECORDER_SETTINGS + ": " + e.getMessage(), e);
        }
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
