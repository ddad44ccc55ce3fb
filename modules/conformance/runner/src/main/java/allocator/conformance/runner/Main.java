package allocator.conformance.runner;

import allocator.conformance.runner.output.PlainWriter;
import java.io.PrintWriter;
import java.util.concurrent.Callable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.ExecutionException;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParseResult;
import picocli.CommandLine.PicocliException;

/**
 * The conformance command as a program of its own, for any provider on the module path or in a directory of jars:
 *
 * <pre>
 * java -p jars --enable-native-access=java.allocator.conformance.runner,my.provider \
 *     -m java.allocator.conformance.runner/allocator.conformance.runner.Main --provider NAME --report DIR
 * </pre>
 *
 * <p>The exit code is 0 if the provider conforms, 1 if it breaks a rule, 2 on wrong usage, and 3 if nothing was tested.
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
        int code = ConformanceCommand.FAILED;
        try {
            final PrintWriter out = new PrintWriter(System.out, false, System.out.charset());
            final PrintWriter err = new PrintWriter(System.err, true, System.err.charset());
            code = run(out, err, arguments);
        } catch (Throwable e) {
            System.err.println("error: the command ended early");
        }
        // Also ends threads that a hanging provider has left behind.
        System.exit(code);
    }

    /** Runs the command; returns its exit code. Whatever is thrown is one line on {@code err}. */
    static int run(PrintWriter out, PrintWriter err, String... arguments) {
        final PrintWriter plain = PlainWriter.over(err, true);
        final ConformanceCommand command = new ConformanceCommand(out, err);
        int code;
        try {
            code = commandLine(command, out, plain).execute(arguments);
        } catch (Throwable e) {
            code = fail(command, plain, e);
        }
        if (out.checkError()) {
            plain.println("error: standard output cannot be written");
            return code == ConformanceCommand.PASSED ? ConformanceCommand.FAILED : code;
        }
        return code;
    }

    private static CommandLine commandLine(ConformanceCommand command, PrintWriter out, PrintWriter err) {
        return new CommandLine(new Main(command))
                .setOut(out)
                .setErr(err)
                .setUsageHelpAutoWidth(false)
                .setOverwrittenOptionsAllowed(true)
                .setExpandAtFiles(false)
                .setExecutionStrategy(Main::execute)
                .setExecutionExceptionHandler((failure, _, _) -> fail(command, err, failure))
                .setParameterExceptionHandler((failure, _) -> {
                    err.println("error: " + failure.getMessage() + "; try --help");
                    return ConformanceCommand.USAGE;
                });
    }

    /** Executes the command. Picocli prints the stack trace of whatever a strategy throws that is not its own. */
    private static int execute(ParseResult arguments) {
        try {
            return new CommandLine.RunLast().execute(arguments);
        } catch (PicocliException e) {
            throw e;
        } catch (RuntimeException e) {
            throw new ExecutionException(arguments.commandSpec().commandLine(), "failed", e);
        }
    }

    private static int fail(ConformanceCommand command, PrintWriter err, Throwable failure) {
        err.println("error: " + LoadedProvider.describe(failure));
        if (command.isVerbose()) {
            failure.printStackTrace(err);
        }
        return ConformanceCommand.FAILED;
    }

    @Override
    public Integer call() {
        return list ? command.list() : command.call();
    }
}
