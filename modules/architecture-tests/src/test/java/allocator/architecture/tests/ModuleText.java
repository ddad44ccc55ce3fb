package allocator.architecture.tests;

import static java.util.stream.Collectors.joining;

import java.lang.module.ModuleDescriptor;
import java.lang.module.ModuleDescriptor.Exports;
import java.lang.module.ModuleDescriptor.Opens;
import java.util.Collection;
import java.util.Locale;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;

/** A module's descriptor in the words and the order of {@code jar --describe-module}, without version and path. */
final class ModuleText {
    private ModuleText() {}

    static String of(ModuleDescriptor module) {
        return Stream.of(
                        Stream.of((module.isOpen() ? "open " : "") + module.name()),
                        module.exports().stream()
                                .filter(exports -> !exports.isQualified())
                                .map(ModuleText::line),
                        module.requires().stream()
                                .map(requires -> "requires " + requires.name() + words(requires.modifiers())),
                        module.uses().stream().map(service -> "uses " + service),
                        module.provides().stream()
                                .map(provides -> "provides " + provides.service() + " with "
                                        + String.join(" ", provides.providers())),
                        module.exports().stream().filter(Exports::isQualified).map(ModuleText::line),
                        module.opens().stream().map(ModuleText::line),
                        concealed(module).stream().map(name -> "contains " + name))
                .flatMap(Stream::sorted)
                .collect(joining("\n", "", "\n"));
    }

    private static String line(Exports exports) {
        return (exports.isQualified() ? "qualified exports " : "exports ")
                + exports.source()
                + words(exports.modifiers())
                + to(exports.targets());
    }

    private static String line(Opens opens) {
        return (opens.isQualified() ? "qualified opens " : "opens ")
                + opens.source()
                + words(opens.modifiers())
                + to(opens.targets());
    }

    private static String to(Set<String> targets) {
        return targets.isEmpty() ? "" : " to " + String.join(" ", new TreeSet<>(targets));
    }

    private static String words(Collection<? extends Enum<?>> modifiers) {
        return modifiers.stream()
                .map(modifier -> " " + modifier.name().toLowerCase(Locale.ROOT))
                .sorted()
                .collect(joining());
    }

    private static Set<String> concealed(ModuleDescriptor module) {
        var concealed = new TreeSet<>(module.packages());
        module.exports().forEach(exports -> concealed.remove(exports.source()));
        module.opens().forEach(opens -> concealed.remove(opens.source()));
        return concealed;
    }
}
