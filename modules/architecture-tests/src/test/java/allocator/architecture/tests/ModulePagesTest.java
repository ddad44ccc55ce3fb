package allocator.architecture.tests;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.module.ModuleDescriptor;
import java.lang.module.ModuleDescriptor.Exports;
import java.lang.module.ModuleDescriptor.Requires;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * What the pages say of modules is true: the classes, members and files in tables "Where to look" exist, "requires"
 * names what the descriptor requires, and tables of packages list every exported package.
 */
class ModulePagesTest {
    private static final Path DOCS = ReactorModule.ROOT.resolve("docs");

    private static final Pattern TOKEN = Pattern.compile("`([^`]+)`");
    private static final Pattern LOOK = Pattern.compile("(?ms)^(?:## |\\*\\*)Where to look.*?(?=^## |\\z)");
    private static final Pattern CELLS = Pattern.compile("(?<!\\\\)\\|");

    /**
     * A type with folder or package before it and a member or test behind it, such as {@code options/ProviderOrder}.
     */
    private static final Pattern NAME = Pattern.compile("((?:[a-z]\\w*[./])*)([A-Z]\\w*)(?:([.#])(\\w+))?");

    private static final Pattern METHOD = Pattern.compile("[a-z]+[A-Z]\\w*");
    private static final Pattern FILE = Pattern.compile("[\\w./-]+\\.(?:css|html|js|txt|xml)|(?:[a-z-]+/)+[a-z-]+");
    private static final Pattern REQUIRES =
            Pattern.compile("(?s)\\b(?:The module|It) requires (?:only )?(`[a-z].*?)(?:\\.\\s|;)");
    private static final Pattern PACKAGES =
            Pattern.compile("(?m)^\\| (hidden )?package \\|.*\\R\\|[-| :]+\\R((?:\\|.*\\R?)+)");
    private static final Pattern PACKAGE = Pattern.compile("(?m)^\\| `([a-z.]+)` \\| (.*)$");

    static List<Path> pages() throws IOException {
        try (Stream<Path> files = Files.walk(DOCS)) {
            return files.filter(file -> LOOK.matcher(read(file)).find()).toList();
        }
    }

    static List<ModuleDescriptor> modulesWithAPage() {
        return ReactorModule.descriptors().stream()
                .filter(module -> Files.exists(page(module)))
                .toList();
    }

    @ParameterizedTest
    @MethodSource("pages")
    void whereToLookNamesOnlyWhatExists(Path page) {
        final List<String> cited = LOOK.matcher(read(page))
                .results()
                .flatMap(section -> section.group().lines())
                .filter(line -> line.startsWith("| "))
                .flatMap(row -> CELLS.splitAsStream(row).skip(2))
                .flatMap(cell -> TOKEN.matcher(cell).results().map(token -> token.group(1)))
                .toList();
        assertThat(cited).isNotEmpty();
        assertThat(cited).filteredOn(token -> !exists(token)).isEmpty();
    }

    @Test
    void thePageOfFailuresNamesOnlyWhatExists() {
        final CitingPage page = new CitingPage("docs/failures.md");
        assertThat(page.missingNames())
                .as("names that are neither ours nor the JDK's")
                .isSubsetOf("`IllegalArgumentException`", "`OutOfMemoryError`", "`StackOverflowError`", "`WARNING`");
        assertThat(page.missingFiles()).isEmpty();
    }

    @ParameterizedTest
    @MethodSource("modulesWithAPage")
    void requiresNamesWhatTheDescriptorRequires(ModuleDescriptor module) {
        final Matcher sentence = REQUIRES.matcher(read(page(module)));
        if (sentence.find()) {
            final Set<String> named = TOKEN.matcher(sentence.group(1))
                    .results()
                    .map(name -> name.group(1))
                    .filter(name -> !name.equals("java.base"))
                    .collect(Collectors.toSet());
            assertThat(named)
                    .isEqualTo(module.requires().stream()
                            .filter(requires -> !requires.modifiers().contains(Requires.Modifier.STATIC))
                            .map(Requires::name)
                            .filter(name -> !name.equals("java.base"))
                            .collect(Collectors.toSet()));
        }
    }

    @ParameterizedTest
    @MethodSource("modulesWithAPage")
    void aTableOfPackagesListsEveryExportedPackage(ModuleDescriptor module) {
        final Set<String> exported = module.exports().stream()
                .filter(exports -> !exports.isQualified())
                .map(Exports::source)
                .collect(Collectors.toSet());
        final Matcher table = PACKAGES.matcher(read(page(module)));
        if (table.find()) {
            final boolean isOfHidden = table.group(1) != null;
            final Set<String> listed = new TreeSet<>();
            for (final Matcher row = PACKAGE.matcher(table.group(2)); row.find(); ) {
                listed.add(row.group(1));
                assertThat(exported.contains(row.group(1)))
                        .as("exported: %s, in: %s", row.group(1), row.group())
                        .isEqualTo(!isOfHidden && !row.group(2).startsWith("hidden"));
            }
            assertThat(listed).isNotEmpty().isSubsetOf(module.packages());
            if (!isOfHidden) {
                assertThat(listed).containsAll(exported);
            }
        }
    }

    private static boolean exists(String token) {
        final Matcher name = NAME.matcher(token);
        if (name.matches()) {
            return CitingPage.exists(name.group(1).replace('.', '/'), name.group(2), name.group(3), name.group(4));
        }
        if (FILE.matcher(token).matches()) {
            return ReactorModule.all().stream().map(ReactorModule::path).anyMatch(module -> hasFile(module, token));
        }
        return !METHOD.matcher(token).matches() || CitingPage.anySourceHas(token + "(");
    }

    private static boolean hasFile(Path module, String name) {
        try (Stream<Path> files =
                Files.exists(module.resolve("src")) ? Files.walk(module.resolve("src")) : Stream.of()) {
            return files.anyMatch(file -> file.endsWith(name));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static Path page(ModuleDescriptor module) {
        return DOCS.resolve("modules").resolve(module.name() + ".md");
    }

    private static String read(Path file) {
        try {
            return file.toString().endsWith(".md") ? Files.readString(file) : "";
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
