package allocator.cli;

import allocator.runtime.Environment;
import allocator.runtime.ProviderDevice;
import allocator.runtime.ProviderReport;
import java.util.ArrayList;
import java.util.List;
import picocli.CommandLine.Command;

/** Lists the providers that were found, and those that cannot be used. */
@Command(
        name = "providers",
        sortOptions = false,
        synopsisHeading = "%nUsage: ",
        optionListHeading = "%n",
        header = "Lists who was found, on which devices, and who was not, and why.")
final class ProvidersCommand extends DeviceCommand {
    ProvidersCommand(Terminal terminal) {
        super(terminal);
    }

    @Override
    public Integer call() {
        final OutputFile json = jsonOutput();
        final List<FoundProvider> found;
        try (Environment environment = openEnvironment()) {
            requireKnownProvider(environment);
            found = find(environment);
        }
        if (json != null) {
            json.write(ProvidersJson.of(found));
        }
        if (isJsonOnly()) {
            out().print(ProvidersJson.of(found));
        } else {
            new ProvidersText(terminal(), isVerbose(), providerName() != null).print(found);
        }
        out().flush();
        if (found.stream().noneMatch(provider -> provider.report().isRegistered())) {
            throw new CommandException("no provider can be used");
        }
        return 0;
    }

    /** Who cannot be used stands in the list; warnings would only say it twice. */
    @Override
    String logLevel() {
        return "error";
    }

    private List<FoundProvider> find(Environment environment) {
        final List<FoundProvider> found = new ArrayList<>();
        for (final ProviderReport report : environment.providers()) {
            if (providerName() == null || report.name().equals(providerName())) {
                found.add(
                        report.isRegistered()
                                ? new FoundProvider(
                                        report,
                                        devices(environment, report),
                                        environment.optionKeys(report.name()),
                                        settings(environment, report.name()))
                                : FoundProvider.unusable(report));
            }
        }
        return found;
    }

    private List<ProviderDevice> devices(Environment environment, ProviderReport report) {
        return environment.devices().stream()
                .filter(device -> device.provider().equals(report.name()))
                .filter(this::isWantedDevice)
                .toList();
    }
}
