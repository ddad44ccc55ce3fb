package allocator.cli;

import allocator.cli.output.Terminal;
import allocator.cli.providers.InstalledProviders;
import allocator.conformance.runner.ConformanceCommand;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.ExecutionException;
import picocli.CommandLine.IVersionProvider;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.ParseResult;
import picocli.CommandLine.PicocliException;
import picocli.CommandLine.ScopeType;
import picocli.CommandLine.UnmatchedArgumentException;

/** The {@code allocator} command. Without a sub-command it replays. */
@Command(
        name = "allocator",
        mixinStandardHelpOptions = true,
        scope = ScopeType.INHERIT,
        versionProvider = Main.Version.class,
        subcommands = {
            ReplayCommand.class,
            ShowCommand.class,
            ProvidersCommand.class,
            TraceCommand.class,
            PlanCommand.class,
            DoctorCommand.class,
            FitCommand.class,
            ConformanceCommand.class
        },
        synopsisHeading = "%nUsage: ",
        optionListHeading = "%n",
        commandListHeading = "%nCommands:%n",
        synopsisSubcommandLabel = "[replay | show | providers | trace | plan | doctor | fit | conformance]",
        header = "Replays the memory of machine-learning models through allocators.",
        footer = {
            "",
            "Without a command it replays the bundled trace gpt2 on the best device found,",
            "and takes the options of replay; without any argument it compares the",
            "placement policies best-fit and compact.",
            "",
            "Exit codes: 0 success, 1 the work failed, 2 wrong usage, 3 nothing was tested",
            "(conformance), 4 most allocations failed (replay)."
        })
public final class Main {
    /** The version that the command reports. */
    static final class Version implements IVersionProvider {
        @Override
        public String[] getVersion() {
            return new String[] {text()};
        }

        static String text() {
            final String version = Main.class.getModule().isNamed()
                    ? Main.class.getModule().getDescriptor().rawVersion().orElse("")
                    : Objects.requireNonNullElse(Main.class.getPackage().getImplementationVersion(), "");
            return ("allocator " + version).strip() + " on Java " + Runtime.version();
        }
    }

    private Main() {}

    /** Runs the command and ends the process with its exit code. */
    public static void main(String[] args) {
        int exitCode = 1;
        try {
            final Terminal terminal = Terminal.ofProcess();
            Thread.setDefaultUncaughtExceptionHandler((thread, e) -> reportThread(terminal, thread, e, args));
            exitCode = run(terminal, args);
        } catch (Throwable e) {
            // Not even a line could be made.
            System.err.println("allocator: failed");
        }
        System.exit(exitCode);
    }

    /** Runs the command; returns its exit code. Whatever is thrown is one line on standard error. */
    static int run(Terminal terminal, String... args) {
        int exitCode;
        try {
            exitCode = isVersion(args)
                    ? printVersion(terminal)
                    : commandLine(terminal).execute(withCommand(args));
        } catch (Throwable e) {
            exitCode = fail(terminal, e, isVerbose(args));
        }
        final Optional<String> lost = terminal.flush();
        if (lost.isPresent() && !lost.get().equals("Broken pipe")) {
            terminal.err().println("allocator: standard output cannot be written: " + lost.get());
            return exitCode == 0 ? 1 : exitCode;
        }
        return exitCode;
    }

    /** {@return the command with all its options} */
    public static CommandLine commandLine(Terminal terminal) {
        return new CommandLine(new Main(), new Commands(terminal))
                .setOut(terminal.rawOut())
                .setErr(terminal.err())
                .setUsageHelpAutoWidth(false)
                .setExpandAtFiles(false)
                .setColorScheme(CommandLine.Help.defaultColorScheme(
                        terminal.hasColour() ? CommandLine.Help.Ansi.ON : CommandLine.Help.Ansi.OFF))
                .setExecutionStrategy(Main::execute)
                .setParameterExceptionHandler(Main::refuse)
                .setExecutionExceptionHandler((e, command, _) -> fail(terminal, e, isVerbose(command)));
    }

    /** Whether nothing but the version is asked for. The model of all commands takes longer to build than the rest. */
    private static boolean isVersion(String... args) {
        return args.length == 1 && (args[0].equals("--version") || args[0].equals("-V"));
    }

    private static int printVersion(Terminal terminal) {
        terminal.rawOut().println(Version.text());
        return 0;
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

    /** Options that are not the command's own are those of a replay. */
    private static String[] withCommand(String... args) {
        final List<String> own = List.of("-h", "--help", "-V", "--version");
        if (args.length > 0 && args[0].equals("conformance")) {
            return withInstalledProviders(args);
        }
        if (args.length > 0 && (!args[0].startsWith("-") || own.contains(args[0]))) {
            return args;
        }
        final List<String> replay = new ArrayList<>(Arrays.asList(args));
        replay.addFirst("replay");
        return replay.toArray(String[]::new);
    }

    /** The command of the kit knows no installation: it gets the folder as an option. */
    private static String[] withInstalledProviders(String... args) {
        final List<String> all = new ArrayList<>(Arrays.asList(args));
        InstalledProviders.folder().ifPresent(folder -> all.addAll(1, List.of("--providers-dir", folder.toString())));
        return all.toArray(String[]::new);
    }

    private static int refuse(ParameterException e, String... args) {
        final CommandLine command = e.getCommandLine();
        final String message = e instanceof UnmatchedArgumentException unmatched
                        && !command.getSubcommands().isEmpty()
                ? "no command '" + unmatched.getUnmatched().getFirst() + "', there are "
                        + String.join(", ", command.getSubcommands().keySet())
                : ErrorLine.of(e);
        report(
                command.getErr(),
                e,
                message + " (see " + command.getCommandSpec().qualifiedName() + " --help)",
                isVerbose(command));
        return 2;
    }

    private static int fail(Terminal terminal, Throwable e, boolean isVerbose) {
        report(terminal.err(), e, ErrorLine.of(e), isVerbose);
        return e instanceof CommandException failure ? failure.exitCode() : 1;
    }

    /** Reports a thread that ended early, in place of the JVM, which prints a stack trace. */
    private static void reportThread(Terminal terminal, Thread thread, Throwable e, String... args) {
        final String message = "warning: thread " + thread.getName() + " ended early: " + ErrorLine.of(e);
        report(terminal.err(), e, message, isVerbose(args));
    }

    private static void report(PrintWriter err, Throwable e, String message, boolean isVerbose) {
        err.println("allocator: " + InputFile.named(message).replaceAll("\\s*\\R\\s*", "; "));
        if (isVerbose) {
            e.printStackTrace(err);
        }
    }

    private static boolean isVerbose(CommandLine command) {
        final Object user = command.getCommand();
        return switch (user) {
            case ResultCommand result -> result.isVerbose();
            case ConformanceCommand conformance -> conformance.isVerbose();
            default -> false;
        };
    }

    private static boolean isVerbose(String... args) {
        return Arrays.asList(args).contains("--verbose") || Arrays.asList(args).contains("-v");
    }
}
