package allocator.cli;

import allocator.cli.output.Terminal;
import allocator.cli.providers.InstalledProviders;
import allocator.cli.text.DeviceId;
import allocator.runtime.Environment;
import allocator.runtime.EnvironmentBuilder;
import allocator.runtime.ProviderDevice;
import allocator.runtime.ProviderReport;
import allocator.spi.AllocatorOptions;
import allocator.spi.InvalidOptionException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** The base of commands that use providers: their options, the environment, and the choice of a device. */
abstract class DeviceCommand extends ResultCommand {
    private static final String OPTION = "--option";

    /** The system property that the configuration of the log reads. */
    private static final String LOG_LEVEL = "allocator.log";

    @Option(
            names = "--provider",
            paramLabel = "NAME",
            description = "Use this provider; see @|bold allocator providers|@.")
    private @Nullable String provider;

    @Option(
            names = "--device",
            paramLabel = "N",
            description =
                    "Use this device: a number, or a kind and a number such as cpu:0. Default: the best one found,"
                            + " a GPU before others.")
    private @Nullable String device;

    @Option(
            names = "--providers-dir",
            paramLabel = "DIR",
            description = "Also search the jars of this folder for providers. Repeatable.")
    private List<Path> providerFolders = new ArrayList<>();

    @Option(
            names = OPTION,
            paramLabel = "KEY=VALUE",
            description = "Set an option of the provider, for instance%narena.max_mem=67108864. Repeatable.")
    private List<String> settings = new ArrayList<>();

    DeviceCommand(Terminal terminal) {
        super(terminal);
    }

    /** Returns the log level without {@code --verbose}. */
    String logLevel() {
        return "warn";
    }

    /** Searches for providers. */
    Environment openEnvironment() {
        requireNames();
        // Read when the first logger is created, which the builder does.
        System.setProperty(LOG_LEVEL, isVerbose() ? "debug" : logLevel());
        final EnvironmentBuilder builder = Environment.builder();
        InstalledProviders.folder().ifPresent(builder::providersFrom);
        for (final Path folder : providerFolders) {
            if (!Files.isDirectory(folder)) {
                throw new UsageException("--providers-dir " + folder + ": "
                        + (Files.exists(folder) ? "is not a folder" : "no such folder"));
            }
            builder.providersFrom(folder);
        }
        return builder.build();
    }

    /** Rejects empty names, which would mean the current directory, or all. */
    private void requireNames() {
        if (providerFolders.stream().anyMatch(folder -> folder.toString().isEmpty())) {
            throw new UsageException("--providers-dir: the name is empty");
        }
        if (provider != null && provider.isEmpty()) {
            throw new UsageException("--provider: the name is empty");
        }
        if (device != null && device.isEmpty()) {
            throw new UsageException("--device: the name is empty");
        }
    }

    /** Closes the environment. A provider that fails to close is reported, and does not cost the result. */
    void close(Environment environment) {
        try {
            environment.close();
        } catch (Throwable e) {
            terminal().err().println("allocator: warning: a provider failed to close: " + ErrorLine.text(e));
            if (isVerbose()) {
                e.printStackTrace(terminal().err());
            }
        }
    }

    /** Returns the device that the options select. */
    ProviderDevice chooseDevice(Environment environment) {
        final List<ProviderDevice> all = environment.devices().stream()
                .filter(candidate -> !candidate.device().memoryInfos().isEmpty())
                .toList();
        requireKnownProvider(environment);
        return all.stream()
                .filter(candidate -> provider == null || candidate.provider().equals(provider))
                .filter(this::isSelectedDevice)
                .findFirst()
                .orElseThrow(() -> noDevice(environment, all));
    }

    /** Rejects a {@code --provider} that is not registered. */
    void requireKnownProvider(Environment environment) {
        final List<ProviderReport> reports = environment.providers();
        if (provider != null
                && reports.stream()
                        .noneMatch(
                                report -> report.isRegistered() && report.name().equals(provider))) {
            final String why = reports.stream()
                    .filter(report -> report.name().equals(provider))
                    .flatMap(report -> report.failure().stream())
                    .findFirst()
                    .map(failure -> " is not used: " + failure)
                    .orElse(": no such provider; found: " + names(reports));
            throw new UsageException("--provider " + provider + why);
        }
    }

    private static String names(List<ProviderReport> reports) {
        return reports.isEmpty()
                ? "none"
                : reports.stream().map(ProviderReport::name).collect(Collectors.joining(", "));
    }

    boolean isSelectedDevice(ProviderDevice candidate) {
        return device == null
                || device.equals(Integer.toString(candidate.ordinal()))
                || device.equals(DeviceId.of(candidate));
    }

    private CommandException noDevice(Environment environment, List<ProviderDevice> all) {
        final String message = "no device" + (device == null ? "" : " " + device)
                + (provider == null ? "" : " of " + provider) + ": " + describeDevices(environment, all);
        // If none was selected the arguments are not wrong.
        return device == null && provider == null ? new CommandException(message) : new UsageException(message);
    }

    /** Describes the devices that could be selected, or why there are none. */
    private String describeDevices(Environment environment, List<ProviderDevice> all) {
        final List<ProviderDevice> candidates = all.stream()
                .filter(one -> provider == null || one.provider().equals(provider))
                .toList();
        if (!candidates.isEmpty()) {
            return candidates.stream()
                    .map(one -> one.provider() + " has " + DeviceId.of(one))
                    .collect(Collectors.joining(", "));
        }
        final String reasons = environment.providers().stream()
                .filter(report -> provider == null || report.name().equals(provider))
                .map(report -> report.name() + " has none ("
                        + report.failure().orElseGet(() -> String.join("; ", report.notes())) + ")")
                .collect(Collectors.joining(", "));
        return reasons.isEmpty()
                ? "no provider was found; add the jar of one, such as java-allocator-cpu-reference"
                : reasons;
    }

    /** Returns the settings of {@code --option}. */
    AllocatorOptions settings() {
        AllocatorOptions given = AllocatorOptions.EMPTY;
        for (final String setting : settings) {
            final int equals = setting.indexOf('=');
            if (equals < 1) {
                throw new UsageException(OPTION + " " + setting + ": a setting is KEY=VALUE");
            }
            final String key = setting.substring(0, equals);
            if (given.keys().contains(key)) {
                throw new UsageException(OPTION + " " + key + " is given twice");
            }
            given = given.with(key, setting.substring(equals + 1), OPTION);
        }
        return given;
    }

    /** Returns the settings of {@code --option}, checked against the keys of a provider. */
    AllocatorOptions settings(Environment environment, String providerName) {
        final AllocatorOptions given = settings();
        try {
            given.requireValid(environment.optionKeys(providerName));
        } catch (InvalidOptionException e) {
            throw new UsageException(e.getMessage(), e);
        }
        return given;
    }

    /** Returns the provider of {@code --provider}; {@code null} if none was given. */
    @Nullable
    String providerName() {
        return provider;
    }
}
