package allocator.cli;

import allocator.conformance.runner.ConformanceCommand;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.IVersionProvider;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.ParseResult;
import picocli.CommandLine.ScopeType;
import picocli.CommandLine.UnmatchedArgumentException;

/** The {@code allocator} command. Without a sub-command it replays. */
@Command(
        name = "allocator",
        mixinStandardHelpOptions = true,
        scope = ScopeType.INHERIT,
        versionProvider = Main.Version.class,
        subcommands = {ReplayCommand.class, ProvidersCommand.class, ConformanceCommand.class},
        synopsisHeading = "%nUsage: ",
        optionListHeading = "%n",
        commandListHeading = "%nCommands:%n",
        synopsisSubcommandLabel = "[replay | providers | conformance]",
        header = "Replays the memory of machine-learning models through allocators.",
        footer = {
            "",
            "Without a command it replays the bundled trace gpt2 on the best device found,",
            "and takes the options of replay.",
            "",
            "Exit codes: 0 success, 1 the work failed, 2 wrong usage."
        })
public final class Main {
    /** The version that the command reports. */
    static final class Version implements IVersionProvider {
        @Override
        public String[] getVersion() {
            final String version = Main.class.getModule().isNamed()
                    ? Main.class.getModule().getDescriptor().rawVersion().orElse("")
                    : Objects.requireNonNullElse(Main.class.getPackage().getImplementationVersion(), "");
            return new String[] {("allocator " + version).strip() + " on Java " + Runtime.version()};
        }
    }

    private Main() {}

    /**
     * Runs the command and ends the process with its exit code.
     *
     * @param args the arguments
     */
    public static void main(String[] args) {
        System.exit(run(Terminal.ofProcess(), args));
    }

    /** Runs the command; returns its exit code. */
    static int run(Terminal terminal, String... args) {
        final CommandLine commandLine = new CommandLine(new Main(), new Commands(terminal))
                .setOut(terminal.out())
                .setErr(terminal.err())
                .setUsageHelpAutoWidth(false)
                .setColorScheme(CommandLine.Help.defaultColorScheme(
                        terminal.hasColour() ? CommandLine.Help.Ansi.ON : CommandLine.Help.Ansi.OFF))
                .setExecutionStrategy(new CommandLine.RunLast())
                .setParameterExceptionHandler(Main::refuse)
                .setExecutionExceptionHandler(Main::fail);
        try {
            return commandLine.execute(withCommand(args));
        } finally {
            terminal.out().flush();
            terminal.err().flush();
        }
    }

    /** Options that are not the command's own are those of a replay. */
    private static String[] withCommand(String... args) {
        final List<String> own = List.of("-h", "--help", "-V", "--version");
        if (args.length > 0 && (!args[0].startsWith("-") || own.contains(args[0]))) {
            return args;
        }
        final List<String> replay = new ArrayList<>(Arrays.asList(args));
        replay.addFirst("replay");
        return replay.toArray(String[]::new);
    }

    private static int refuse(ParameterException e, String... args) {
        final CommandLine command = e.getCommandLine();
        if (e instanceof UnmatchedArgumentException unmatched && command.getParent() == null) {
            return report(
                    command,
                    e,
                    "no command '" + unmatched.getUnmatched().getFirst() + "', there are "
                            + String.join(", ", command.getSubcommands().keySet()) + " (see allocator --help)",
                    2);
        }
        return report(
                command, e, oneLine(e) + " (see " + command.getCommandSpec().qualifiedName() + " --help)", 2);
    }

    private static int fail(Exception e, CommandLine command, ParseResult arguments) {
        if (e instanceof CommandException failure) {
            return report(command, e, oneLine(e), failure.exitCode());
        }
        final String kind = e.getMessage() == null ? "" : e.getClass().getSimpleName() + ": ";
        return report(command, e, kind + oneLine(e), 1);
    }

    private static int report(CommandLine command, Exception e, String message, int exitCode) {
        command.getErr().println("allocator: " + message);
        if (isVerbose(command)) {
            e.printStackTrace(command.getErr());
        }
        return exitCode;
    }

    private static boolean isVerbose(CommandLine command) {
        return command.getCommand() instanceof DeviceCommand device && device.isVerbose();
    }

    private static String oneLine(Exception e) {
        final String message = e.getMessage() == null ? e.getClass().getName() : e.getMessage();
        return message.strip().replaceAll("\\s*\\R\\s*", "; ");
    }
}
