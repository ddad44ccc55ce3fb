package allocator.cli;

import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** What can be done with a trace besides replaying it. */
@Command(
        name = "trace",
        subcommands = {TraceInfoCommand.class, TraceImportCommand.class},
        synopsisHeading = "%nUsage: ",
        commandListHeading = "%nCommands:%n",
        synopsisSubcommandLabel = "(info | import)",
        header = "Shows what a trace holds, or makes one of another tool's log.",
        footer = {"", "Exit codes: 0 success, 1 the work failed, 2 wrong usage."})
final class TraceCommand implements Callable<Integer> {
    @Spec
    @SuppressWarnings("NullAway.Init") // set by picocli
    private CommandSpec spec;

    @Override
    public Integer call() {
        throw new ParameterException(spec.commandLine(), "a command is missing: info or import");
    }
}
