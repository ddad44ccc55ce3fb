package allocator.cli;

import allocator.cli.output.Terminal;
import allocator.conformance.runner.ConformanceCommand;
import picocli.CommandLine;
import picocli.CommandLine.IFactory;

/** Creates the commands with the terminal to which they write. */
final class Commands implements IFactory {
    private final Terminal terminal;
    private final IFactory others = CommandLine.defaultFactory();

    Commands(Terminal terminal) {
        this.terminal = terminal;
    }

    @Override
    public <K> K create(Class<K> type) throws Exception {
        if (type == ReplayCommand.class) {
            return type.cast(new ReplayCommand(terminal));
        }
        if (type == ShowCommand.class) {
            return type.cast(new ShowCommand(terminal));
        }
        if (type == ProvidersCommand.class) {
            return type.cast(new ProvidersCommand(terminal));
        }
        if (type == TraceInfoCommand.class) {
            return type.cast(new TraceInfoCommand(terminal));
        }
        if (type == TraceImportCommand.class) {
            return type.cast(new TraceImportCommand(terminal));
        }
        if (type == PlanCommand.class) {
            return type.cast(new PlanCommand(terminal));
        }
        if (type == ConformanceCommand.class) {
            return type.cast(new ConformanceCommand(terminal.out(), terminal.err(), "allocator"));
        }
        return others.create(type);
    }
}
