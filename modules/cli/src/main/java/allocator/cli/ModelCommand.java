package allocator.cli;

import allocator.cli.output.Json;
import allocator.cli.output.Terminal;
import allocator.cli.output.TextTable;
import allocator.view.Page;
import allocator.view.Report;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** The base of commands that run a user's model. */
abstract class ModelCommand extends ResultCommand {
    @Parameters(paramLabel = "MODEL", description = "A model in ONNX format. It stays on this machine.")
    private String model = "";

    @Option(
            names = "--shape",
            paramLabel = "NAME=DIMS",
            description = "The dimensions of an input, such as x=1x128; repeatable. Each input with a free dimension"
                    + " needs one.")
    private List<String> shapes = new ArrayList<>();

    @Option(
            names = "--onnxruntime",
            paramLabel = "JAR",
            description = "ONNX Runtime's jar. Otherwise that of the environment variable ALLOCATOR_ONNXRUNTIME, of the"
                    + " command's folder doctor, or the newest of ~/.m2.")
    private @Nullable Path onnxRuntime;

    ModelCommand(Terminal terminal) {
        super(terminal);
    }

    final String model() {
        return model;
    }

    /** Returns what runs the model; after the checks of outputs. */
    final ModelProcess process() {
        requireNoOutput(model);
        final String file = InputFile.of(model);
        if (!Files.isRegularFile(Path.of(file))) {
            throw new UsageException(model + ": no such file");
        }
        return new ModelProcess(file, onnxRuntime);
    }

    /** Returns settings with the shapes that the user gave. */
    final Map<String, String> shapes() {
        final Map<String, String> settings = new TreeMap<>();
        for (final String shape : shapes) {
            final int sign = shape.lastIndexOf('=');
            if (sign < 1) {
                throw new UsageException("--shape " + shape + ": is not NAME=DIMS, such as x=1x128");
            }
            if (settings.put("shape." + shape.substring(0, sign), shape.substring(sign + 1)) != null) {
                throw new UsageException("--shape " + shape + ": the input has another shape already");
            }
        }
        return settings;
    }

    /** Returns the model and the shapes in one line. */
    final String subject() {
        return shapes.isEmpty() ? "" : "with " + String.join(", ", shapes);
    }

    /** Prints or writes the report, as text, JSON and page. */
    final void show(Report report, Json json, @Nullable OutputFile jsonFile, @Nullable OutputFile page) {
        final String name = String.valueOf(Path.of(model).getFileName());
        show(() -> print(name, report), () -> Json.text(json), jsonFile);
        if (page != null) {
            page.write(Page.of(name, report));
        }
    }

    private void print(String name, Report report) {
        terminal().printHeading(name, report.subtitle().isEmpty() ? "" : ", " + report.subtitle());
        for (final Report.Table table : report.tables()) {
            out().println();
            terminal().printHeading(table.title(), "");
            if (!table.rows().isEmpty()) {
                final TextTable text = new TextTable(
                                "  ", "l" + "r".repeat(table.head().size() - 1))
                        .row(table.head().toArray(String[]::new));
                table.rows().forEach(row -> text.row(row.cells().toArray(String[]::new)));
                terminal().printTable(text);
            }
            table.notes().forEach(note -> out().println("  " + note));
        }
    }
}
