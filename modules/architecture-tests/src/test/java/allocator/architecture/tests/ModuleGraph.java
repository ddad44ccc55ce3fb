package allocator.architecture.tests;

import static java.util.stream.Collectors.joining;
import static java.util.stream.Collectors.toCollection;

import java.lang.module.ModuleDescriptor;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Stream;

/** The {@code requires} edges between modules, without those that others imply, as a Mermaid flowchart. */
final class ModuleGraph {
    private static final String PREFIX = "java.allocator.";

    private final Map<String, Set<String>> edges = new TreeMap<>();

    private ModuleGraph(Collection<ModuleDescriptor> modules) {
        final List<String> names = modules.stream().map(ModuleDescriptor::name).toList();
        modules.forEach(module -> edges.put(
                module.name(),
                module.requires().stream()
                        .map(ModuleDescriptor.Requires::name)
                        .filter(names::contains)
                        .collect(toCollection(TreeSet::new))));
    }

    static String of(Collection<ModuleDescriptor> modules) {
        return new ModuleGraph(modules).text();
    }

    private String text() {
        final Stream<String> lines = edges.keySet().stream().flatMap(this::lines);
        return lines.collect(joining("\n", "```mermaid\nflowchart BT\n", "\n```"));
    }

    private Stream<String> lines(String module) {
        final List<String> direct = edges.get(module).stream()
                .filter(required -> !isImplied(module, required))
                .toList();
        return direct.isEmpty()
                ? Stream.of("    " + node(module))
                : direct.stream().map(required -> "    " + node(module) + " --> " + node(required));
    }

    /** Whether another required module requires it, directly or through others. */
    private boolean isImplied(String module, String required) {
        return edges.get(module).stream().anyMatch(other -> !other.equals(required) && reaches(other, required));
    }

    private boolean reaches(String from, String to) {
        return edges.get(from).stream().anyMatch(next -> next.equals(to) || reaches(next, to));
    }

    private static String node(String module) {
        return module.startsWith(PREFIX) ? module.substring(PREFIX.length()) : module;
    }
}
