package allocator.cli;

import allocator.cli.output.Terminal;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** The base of commands that print a result, as text or as JSON. */
abstract class ResultCommand implements Callable<Integer> {
    private final Terminal terminal;

    @Option(
            names = "--json",
            order = 100,
            paramLabel = "FILE",
            description = "Write the result to this file as JSON; - is standard output, instead of the text.")
    private @Nullable Path jsonFile;

    @Option(
            names = {"-v", "--verbose"},
            order = 101,
            description = "Log progress, and show the stack trace of an error.")
    private boolean verbose;

    ResultCommand(Terminal terminal) {
        this.terminal = terminal;
    }

    final Terminal terminal() {
        return terminal;
    }

    final PrintWriter out() {
        return terminal.out();
    }

    final boolean isVerbose() {
        return verbose;
    }

    /** Returns whether the JSON replaces the text. */
    final boolean isJsonOnly() {
        return jsonFile != null && jsonFile.toString().equals("-");
    }

    /** Returns the file for the JSON, checked; {@code null} if none was given or it goes to standard output. */
    final @Nullable OutputFile jsonOutput() {
        return jsonFile == null || isJsonOnly() ? null : new OutputFile("--json", jsonFile);
    }
}
