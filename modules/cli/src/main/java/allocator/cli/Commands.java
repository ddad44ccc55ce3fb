package allocator.cli;

import allocator.cli.output.Terminal;
import allocator.conformance.runner.ConformanceCommand;
import java.util.Map;
import java.util.function.Supplier;
import picocli.CommandLine;
import picocli.CommandLine.IFactory;

/** Creates the commands with the terminal to which they write. */
final class Commands implements IFactory {
    private final Map<Class<?>, Supplier<?>> commands;
    private final IFactory others = CommandLine.defaultFactory();

    Commands(Terminal terminal) {
        commands = Map.of(
                ReplayCommand.class, () -> new ReplayCommand(terminal),
                ShowCommand.class, () -> new ShowCommand(terminal),
                ProvidersCommand.class, () -> new ProvidersCommand(terminal),
                TraceInfoCommand.class, () -> new TraceInfoCommand(terminal),
                TraceImportCommand.class, () -> new TraceImportCommand(terminal),
                PlanCommand.class, () -> new PlanCommand(terminal),
                DoctorCommand.class, () -> new DoctorCommand(terminal),
                FitCommand.class, () -> new FitCommand(terminal),
                ConformanceCommand.class, () -> new ConformanceCommand(terminal.out(), terminal.err(), "allocator"));
    }

    @Override
    public <K> K create(Class<K> type) throws Exception {
        final Supplier<?> command = commands.get(type);
        return command == null ? others.create(type) : type.cast(command.get());
    }
}
