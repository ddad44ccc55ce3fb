package allocator.conformance.runner;

import allocator.conformance.DeviceProbe;
import allocator.conformance.DeviceProbeProvider;
import allocator.spi.EpFactory;
import java.io.Serializable;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** The providers that the command finds, and the one it is to prove. */
final class Providers {
    /**
     * Which provider, and where it is.
     *
     * @param name the name of its factory; {@code null} if there is only one
     * @param directories folders of jars to look in, as text
     */
    record Choice(@Nullable String name, List<String> directories) implements Serializable {
        Choice {
            directories = List.copyOf(directories);
        }

        static Choice of(@Nullable String name, List<Path> directories) {
            return new Choice(name, directories.stream().map(Path::toString).toList());
        }
    }

    private final Choice choice;
    private final Consumer<String> problems;
    private final List<LoadedProvider> ofDirectories;

    /**
     * Loads the providers of the directories.
     *
     * @param problems receives a line for each jar and provider that cannot be loaded; the others are not affected
     * @throws IllegalArgumentException if a directory cannot be read
     */
    Providers(Choice choice, Consumer<String> problems) {
        this.choice = choice;
        this.problems = problems;
        ofDirectories = choice.directories().stream()
                .map(directory -> LoadedProvider.in(Path.of(directory), problems))
                .flatMap(List::stream)
                .toList();
    }

    /** Returns the providers of the directories, and those on the module path and the class path. */
    List<LoadedProvider> all() {
        final List<LoadedProvider> found = new ArrayList<>(ofDirectories);
        found.addAll(LoadedProvider.ofApplication(problems));
        return found;
    }

    /**
     * Returns the chosen provider. A directory without the name of a provider means the provider in that directory.
     *
     * @throws IllegalArgumentException if there is not exactly one
     */
    LoadedProvider chosen() {
        final List<LoadedProvider> found =
                choice.directories().isEmpty() || choice.name() != null ? all() : ofDirectories;
        if (found.isEmpty()) {
            throw new IllegalArgumentException("no provider found "
                    + (choice.directories().isEmpty()
                            ? "on the module path or the class path, by the class loaders " + LoadedProvider.loaders()
                            : "in " + choice.directories()));
        }
        final String wanted = choice.name();
        final List<LoadedProvider> chosen = found.stream()
                .filter(one -> wanted == null || one.name().equals(wanted))
                .toList();
        if (chosen.size() != 1) {
            final String reason;
            if (wanted == null) {
                reason = "there are several providers; choose one with --provider";
            } else {
                reason = (chosen.isEmpty() ? "no provider is named " : "several are named ") + wanted;
            }
            final List<String> names = found.stream().map(LoadedProvider::name).toList();
            throw new IllegalArgumentException(reason + "; found: " + String.join(", ", names));
        }
        return chosen.getFirst();
    }

    /**
     * Returns what finds the probe of a factory among the services beside a provider.
     *
     * @throws IllegalArgumentException if no probe is there for the factories of this provider
     */
    static Function<EpFactory, Optional<DeviceProbe>> probes(LoadedProvider provider) {
        final List<DeviceProbeProvider> services = provider.probes().get();
        final Function<EpFactory, Optional<DeviceProbe>> probes = factory -> services.stream()
                .map(service -> service.probe(factory))
                .flatMap(Optional::stream)
                .findFirst();
        final boolean hasProbe;
        try (EpFactory factory = provider.factories().get()) {
            hasProbe = probes.apply(factory).isPresent();
        }
        if (!hasProbe) {
            throw new IllegalArgumentException("--probe: no service " + DeviceProbeProvider.class.getName()
                    + " beside " + provider.name() + " has a probe for its factories; "
                    + (services.isEmpty() ? "there is no such service" : "found: " + services));
        }
        return probes;
    }
}
