package allocator.cli;

import allocator.cli.output.Terminal;
import allocator.cli.text.ListedProvider;
import allocator.cli.text.ProvidersJson;
import allocator.cli.text.ProvidersText;
import allocator.runtime.Environment;
import allocator.runtime.ProviderDevice;
import allocator.runtime.ProviderReport;
import allocator.spi.MemoryInfo;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import picocli.CommandLine.Command;

/** Lists every provider found, its devices, and the reason any provider was skipped. */
@Command(
        name = "providers",
        optionListHeading = "%n",
        header = "Lists every provider found, its devices, and why any provider was skipped.",
        footer = {"", "Exit codes: 0 success, 1 the work failed, 2 wrong usage."})
final class ProvidersCommand extends DeviceCommand {
    ProvidersCommand(Terminal terminal) {
        super(terminal);
    }

    @Override
    public Integer call() {
        final OutputFile json = jsonOutput();
        final List<ListedProvider> found;
        final Environment environment = openEnvironment();
        try {
            requireKnownProvider(environment);
            found = find(environment);
        } finally {
            close(environment);
        }
        show(
                () -> new ProvidersText(terminal(), isVerbose(), providerName() != null).print(found),
                () -> ProvidersJson.of(found),
                json);
        if (found.stream().noneMatch(provider -> provider.report().isRegistered())) {
            throw new CommandException("no provider can be used");
        }
        return 0;
    }

    /** Unusable providers are in the list; warnings would repeat it. */
    @Override
    String logLevel() {
        return "error";
    }

    private List<ListedProvider> find(Environment environment) {
        final List<ListedProvider> found = new ArrayList<>();
        for (final ProviderReport report : environment.providers()) {
            if (providerName() == null || report.name().equals(providerName())) {
                found.add(
                        report.isRegistered()
                                ? new ListedProvider(
                                        report,
                                        devices(environment, report),
                                        environment.optionKeys(report.name()),
                                        settings(environment, report.name()),
                                        servedBy(environment, report))
                                : ListedProvider.unusable(report));
            }
        }
        return found;
    }

    private static Map<MemoryInfo, String> servedBy(Environment environment, ProviderReport report) {
        final Map<MemoryInfo, String> servedBy = new HashMap<>();
        report.devices().stream()
                .flatMap(device -> device.memoryInfos().stream())
                .filter(memory -> !memory.isReadOnly())
                .forEach(memory -> environment
                        .sharedAllocator(memory.location())
                        .ifPresent(
                                shared -> servedBy.put(memory, shared.report().provider())));
        return servedBy;
    }

    private List<ProviderDevice> devices(Environment environment, ProviderReport report) {
        return environment.devices().stream()
                .filter(device -> device.provider().equals(report.name()))
                .filter(this::isSelectedDevice)
                .toList();
    }
}
