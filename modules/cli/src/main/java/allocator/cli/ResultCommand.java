package allocator.cli;

import allocator.cli.output.Terminal;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** The base of commands that print a result, as text or as JSON; they share the form of their help. */
@Command(sortOptions = false, synopsisHeading = "%nUsage: ", parameterListHeading = "%n")
abstract class ResultCommand implements Callable<Integer> {
    private final Terminal terminal;

    /** The files that are to be written. */
    private final List<OutputFile> outputs = new ArrayList<>();

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
        return isJsonOnly() ? null : outputFile("--json", jsonFile);
    }

    /** Checks a file that this command is to write, and no other option names; {@code null} if none was given. */
    final @Nullable OutputFile outputFile(String option, @Nullable Path given) {
        if (given == null) {
            return null;
        }
        final OutputFile file = new OutputFile(option, given);
        outputs.forEach(file::requireOther);
        outputs.add(file);
        return file;
    }

    /** Checks that no file to be written is this input, which may be no file. To be called with each after outputs. */
    final void requireNoOutput(String input) {
        final Path file;
        try {
            file = Path.of(input);
        } catch (InvalidPathException e) {
            return; // the reader says so
        }
        outputs.forEach(output -> output.requireNot(file));
    }

    /** Checks that an input has content, without which its kind cannot be known; {@code kinds} says what it is not. */
    static void requireContent(String input, String kinds) {
        try {
            final Path file = Path.of(input);
            if (Files.isRegularFile(file) && Files.size(file) == 0) {
                throw new CommandException(input + ": is empty: it is " + kinds, null);
            }
        } catch (InvalidPathException | IOException e) {
            // the reader says so
        }
    }

    /**
     * Prints the result as text or as JSON, and writes the JSON to its file. Flushes between the two, so that a file
     * that cannot be written does not cost the text.
     */
    final void show(Runnable text, Supplier<String> json, @Nullable OutputFile file) {
        if (isJsonOnly()) {
            out().print(json.get());
        } else {
            text.run();
        }
        out().flush();
        if (file != null) {
            file.write(json.get());
        }
    }
}
