package allocator.cli;

import allocator.cli.output.Json;
import allocator.cli.output.Sizes;
import allocator.cli.output.Terminal;
import allocator.cli.output.TextTable;
import allocator.conformance.runner.output.WholeFile;
import allocator.resource.log.RmmLog;
import allocator.trace.TraceWriter;
import allocator.view.recording.Recording;
import allocator.view.recording.RecordingException;
import allocator.view.recording.TraceConversion;
import java.io.IOException;
import java.nio.charset.CharacterCodingException;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Makes a trace of the log of another tool, or of a recording. */
@Command(
        name = "import",
        optionListHeading = "%n",
        header = "Makes a trace of a recording of the flight recorder, or of a log of RMM.",
        footer = {
            "",
            "A recording has each allocation and free if it was made with",
            "settings=java-allocator.jfc,blocks=true.",
            "A log of RMM, the RAPIDS memory manager, is CSV with the columns",
            "Thread,Time,Action,Pointer,Size,Stream, as its logging resource writes it.",
            "Reserves stay reserves; a log of RMM has none. A trace has no alignment, no",
            "read-only memory and no ends of streams.",
            "Failed allocations are left out, and frees of memory from before the file.",
            "Where an address is allocated again without a free, the earlier block is freed.",
            "",
            "Exit codes: 0 success, 1 the file is neither, 2 wrong usage."
        })
final class TraceImportCommand extends ResultCommand {
    @Parameters(paramLabel = "FILE", description = "The recording or the log.")
    private String log = "";

    @Option(
            names = {"-o", "--output"},
            paramLabel = "TRACE",
            description =
                    "The trace, gzip if its name ends in .gz. An existing file is replaced. Default: a new file beside"
                            + " the log, whose name ends in .trace.csv.gz.")
    private @Nullable Path output;

    TraceImportCommand(Terminal terminal) {
        super(terminal);
    }

    @Override
    public Integer call() {
        final OutputFile json = jsonOutput();
        final String read = InputFile.of(log);
        final Path file = existing(read);
        final OutputFile given = outputFile("--output", output);
        requireNoOutput(log);
        requireContent(read, "neither a recording nor a log");
        final OutputFile target = given == null ? beside(file) : given;
        final Imported result =
                Recording.looksLikeOne(file) ? importRecording(file, target.path()) : importLog(file, target.path());
        show(() -> print(Path.of(log), target.path(), result), () -> json(target.path(), result), json);
        return 0;
    }

    /** What was read and written. */
    private record Imported(
            long entries,
            long allocations,
            long reserves,
            long frees,
            long addedFrees,
            long failures,
            long unknownFrees,
            long otherSizes,
            List<String> leftOut) {}

    private static Imported importLog(Path file, Path target) {
        ForeignFile.reject(file);
        final List<String> leftOut = new ArrayList<>();
        final List<RmmLog.Entry> entries = read(file, leftOut);
        final RmmLog.Conversion made = convert(file, entries, target);
        return new Imported(
                entries.size(),
                made.allocations(),
                0,
                made.frees(),
                made.addedFrees(),
                made.failures(),
                made.unknownFrees(),
                made.otherSizes(),
                leftOut);
    }

    private static Imported importRecording(Path file, Path target) {
        final Recording recording;
        try {
            recording = Recording.read(file);
        } catch (RecordingException e) {
            throw new CommandException(e.getMessage(), e);
        }
        if (recording.allocations() == 0) {
            throw new CommandException(
                    file + ": has no allocations; record with settings=java-allocator.jfc,blocks=true");
        }
        final TraceConversion made = convert(file, target, recording::writeTo);
        return new Imported(
                recording.allocations() + recording.frees(),
                made.allocations(),
                made.reserves(),
                made.frees(),
                made.addedFrees(),
                recording.failures().size(),
                made.unknownFrees(),
                0,
                List.of());
    }

    /** Writes a whole trace. */
    private interface Source<R> {
        R writeTo(TraceWriter writer) throws IOException;
    }

    private static Path existing(String name) {
        if (name.isEmpty()) {
            throw new UsageException("the name of the log is empty");
        }
        final Path file;
        try {
            file = Path.of(name);
        } catch (InvalidPathException e) {
            throw new UsageException(name + ": " + e.getReason(), e);
        }
        if (!Files.exists(file)) {
            throw new UsageException(name + ": no such file");
        }
        if (Files.isDirectory(file)) {
            throw new UsageException(name + ": is a directory, not a log");
        }
        return file;
    }

    private static OutputFile beside(Path file) {
        if (InputFile.isCopy(file.toString())) {
            throw new UsageException("--output must name the trace, as the log is no regular file");
        }
        final String name = file.getFileName().toString();
        final int end = name.lastIndexOf('.');
        final Path target = file.resolveSibling((end < 1 ? name : name.substring(0, end)) + ".trace.csv.gz");
        if (Files.exists(target)) {
            throw new UsageException(target + " exists; --output names the trace to write");
        }
        return new OutputFile("--output", target);
    }

    private static List<RmmLog.Entry> read(Path file, List<String> leftOut) {
        try {
            final List<RmmLog.Entry> entries = RmmLog.read(file, leftOut::add);
            if (entries.isEmpty() && !leftOut.isEmpty()) {
                throw new CommandException(leftOut.getFirst());
            }
            return entries;
        } catch (CharacterCodingException e) {
            throw new CommandException(file + ": is no UTF-8 text", e);
        } catch (AccessDeniedException e) {
            throw new CommandException(file + ": permission denied", e);
        } catch (IOException e) {
            throw new CommandException(file + ": cannot be read: " + ErrorLine.text(e), e);
        } catch (IllegalArgumentException e) {
            throw new CommandException(e.getMessage(), e); // names file and line
        }
    }

    private static RmmLog.Conversion convert(Path file, List<RmmLog.Entry> entries, Path target) {
        return convert(
                file,
                target,
                writer -> RmmLog.toTrace(entries, new RmmLog.TraceEvents() {
                    @Override
                    public void allocation(long id, long byteSize, int stream) throws IOException {
                        writer.allocation(id, byteSize, stream);
                    }

                    @Override
                    public void free(long id, long byteSize, int stream) throws IOException {
                        writer.free(id, byteSize, stream);
                    }
                }));
    }

    /** Writes a whole trace, or none. */
    private static <R> R convert(Path file, Path target, Source<R> source) {
        try {
            final TraceWriter writer = new TraceWriter(target);
            try {
                final R result = source.writeTo(writer);
                writer.close();
                return result;
            } catch (Throwable e) {
                writer.discard();
                throw e;
            }
        } catch (IOException e) {
            throw new CommandException(target + ": " + WholeFile.reason(e), e);
        } catch (IllegalArgumentException e) {
            throw new CommandException(file + ": " + e.getMessage(), e);
        }
    }

    private void print(Path file, Path target, Imported result) {
        terminal().printHeading(file.toString(), ", " + Sizes.exact(result.entries()) + " entries");
        out().println();
        new TextTable("  ", "rl")
                .row(Sizes.exact(result.allocations()), "allocations")
                .row(Sizes.exact(result.reserves()), "of them reserves")
                .row(Sizes.exact(result.frees()), "frees")
                .row(Sizes.exact(result.addedFrees()), "frees added: the file allocates the address again")
                .row(Sizes.exact(result.failures()), "failed allocations left out")
                .row(Sizes.exact(result.unknownFrees()), "frees of memory from before the file left out")
                .row(Sizes.exact(result.otherSizes()), "frees of another size than their allocation")
                .row(Sizes.exact(result.leftOut().size()), "other lines left out")
                .lines()
                .forEach(out()::println);
        if (!result.leftOut().isEmpty()) {
            out().println("  the last of them: "
                    + InputFile.named(result.leftOut().getLast()));
        }
        out().println();
        out().println("written: " + target);
    }

    private String json(Path target, Imported result) {
        return Json.text(new Json()
                .put("log", log)
                .put("trace", target.toString())
                .put("entries", result.entries())
                .put("allocations", result.allocations())
                .put("reserves", result.reserves())
                .put("frees", result.frees())
                .put("added_frees", result.addedFrees())
                .put("failed_allocations", result.failures())
                .put("unknown_frees", result.unknownFrees())
                .put("frees_of_other_size", result.otherSizes())
                .put("lines_left_out", result.leftOut().size()));
    }
}
