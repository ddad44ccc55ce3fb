package allocator.conformance.runner;

import java.io.PrintWriter;
import java.util.concurrent.Callable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/**
 * The conformance command as a program of its own, for any provider on the module path or in a directory of jars:
 *
 * <pre>
 * java -p jars --enable-native-access=java.allocator.conformance.runner,my.provider \
 *     -m java.allocator.conformance.runner/allocator.conformance.runner.Main --provider NAME --report DIR
 * </pre>
 *
 * <p>The exit code is 0 if no rule is broken, 1 if one is, and 2 on wrong usage.
 */
@Command(name = "allocator.conformance.runner.Main")
public final class Main implements Callable<Integer> {
    @Mixin
    private final ConformanceCommand command;

    @Option(names = "--list", description = "List the providers found, and exit.")
    private boolean list;

    @Option(
            names = {"-h", "--help"},
            usageHelp = true,
            description = "Show this help message and exit.")
    @SuppressWarnings("UnusedVariable") // picocli reads its annotation
    private boolean help;

    private Main(ConformanceCommand command) {
        this.command = command;
    }

    /**
     * Runs the command and ends the process.
     *
     * @param arguments the options; {@code --help} lists them
     */
    public static void main(String[] arguments) {
        final PrintWriter out = new PrintWriter(System.out, false, System.out.charset());
        final PrintWriter err = new PrintWriter(System.err, true, System.err.charset());
        final int code = run(out, err, arguments);
        out.flush();
        // Also ends threads that a hanging provider has left behind.
        System.exit(code);
    }

    /** Runs the command; returns its exit code. */
    static int run(PrintWriter out, PrintWriter err, String... arguments) {
        return new CommandLine(new Main(new ConformanceCommand(out, err)))
                .setOut(out)
                .setErr(err)
                .setUsageHelpAutoWidth(false)
                .setOverwrittenOptionsAllowed(true)
                .setExpandAtFiles(false)
                .setParameterExceptionHandler((failure, _) -> {
                    err.println("error: " + failure.getMessage() + "; try --help");
                    return ConformanceCommand.USAGE;
                })
                .execute(arguments);
    }

    @Override
    public Integer call() {
        return list ? command.list() : command.call();
    }
}
