package allocator.cli;

import allocator.cli.output.Json;
import allocator.cli.output.Sizes;
import allocator.cli.output.Terminal;
import allocator.cli.output.TextTable;
import allocator.conformance.runner.output.WholeFile;
import allocator.resource.log.RmmLog;
import allocator.trace.TraceWriter;
import java.io.IOException;
import java.nio.charset.CharacterCodingException;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Makes a trace of the log of another tool. */
@Command(
        name = "import",
        sortOptions = false,
        synopsisHeading = "%nUsage: ",
        parameterListHeading = "%n",
        optionListHeading = "%n",
        header = "Makes a trace of a log of RMM, the RAPIDS memory manager.",
        footer = {
            "",
            "The log is CSV with the columns Thread,Time,Action,Pointer,Size,Stream, as",
            "RMM's logging resource writes it. Failed allocations are left out, and frees",
            "of memory from before the log. Where an address is allocated again without a",
            "free, the earlier block is freed.",
            "",
            "Exit codes: 0 success, 1 the file is no such log, 2 wrong usage."
        })
final class TraceImportCommand extends ResultCommand {
    @Parameters(paramLabel = "FILE", description = "The log.")
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
        final Path file = existing(log);
        final OutputFile target = output == null ? beside(file) : new OutputFile("--output", output);
        final List<RmmLog.Entry> entries = read(file);
        final RmmLog.Conversion result = convert(file, entries, target.path());
        if (isJsonOnly()) {
            out().print(json(target.path(), entries.size(), result));
        } else {
            print(file, target.path(), entries.size(), result);
        }
        out().flush();
        if (json != null) {
            json.write(json(target.path(), entries.size(), result));
        }
        return 0;
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
        final String name = file.getFileName().toString();
        final int end = name.lastIndexOf('.');
        final Path target = file.resolveSibling((end < 1 ? name : name.substring(0, end)) + ".trace.csv.gz");
        if (Files.exists(target)) {
            throw new UsageException(target + " exists; --output names the trace to write");
        }
        return new OutputFile("--output", target);
    }

    private static List<RmmLog.Entry> read(Path file) {
        try {
            return RmmLog.read(file);
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
        try {
            return convert(entries, new TraceWriter(target));
        } catch (IOException e) {
            throw new CommandException(target + ": " + WholeFile.reason(e), e);
        } catch (IllegalArgumentException e) {
            throw new CommandException(file + ": " + e.getMessage(), e);
        }
    }

    /** Writes a whole trace, or none. */
    private static RmmLog.Conversion convert(List<RmmLog.Entry> entries, TraceWriter writer) throws IOException {
        try {
            final RmmLog.Conversion result = RmmLog.toTrace(entries, new RmmLog.TraceEvents() {
                @Override
                public void allocation(long id, long byteSize, int stream) throws IOException {
                    writer.allocation(id, byteSize, stream);
                }

                @Override
                public void free(long id, long byteSize, int stream) throws IOException {
                    writer.free(id, byteSize, stream);
                }
            });
            writer.close();
            return result;
        } catch (Throwable e) {
            writer.discard();
            throw e;
        }
    }

    private void print(Path file, Path target, int entries, RmmLog.Conversion result) {
        terminal().printHeading(file.toString(), ", " + Sizes.exact(entries) + " entries");
        out().println();
        new TextTable("  ", "rl")
                .row(Sizes.exact(result.allocations()), "allocations")
                .row(Sizes.exact(result.frees()), "frees")
                .row(Sizes.exact(result.addedFrees()), "frees added: the log allocates the address again")
                .row(Sizes.exact(result.failures()), "failed allocations left out")
                .row(Sizes.exact(result.unknownFrees()), "frees of memory from before the log left out")
                .lines()
                .forEach(out()::println);
        out().println();
        out().println("written: " + target);
    }

    private String json(Path target, int entries, RmmLog.Conversion result) {
        return Json.write(json -> {
            json.writeStartObject();
            json.writeStringField("log", log);
            json.writeStringField("trace", target.toString());
            json.writeNumberField("entries", entries);
            json.writeNumberField("allocations", result.allocations());
            json.writeNumberField("frees", result.frees());
            json.writeNumberField("added_frees", result.addedFrees());
            json.writeNumberField("failed_allocations", result.failures());
            json.writeNumberField("unknown_frees", result.unknownFrees());
            json.writeEndObject();
        });
    }
}
