package allocator.architecture.tests;

import static java.util.stream.Collectors.groupingBy;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** A page that cites classes, members, tests ({@code Class#method}) and files: which of them do not exist. */
final class CitingPage {
    private static final Pattern NAME = Pattern.compile("`([A-Z]\\w*)(?:([.#])(\\w+))?`");
    private static final Pattern LINK = Pattern.compile("]\\((?!https:)([^)#]+)(?:#[^)]*)?\\)");
    private static final Pattern TEST = Pattern.compile("@(?:ConformanceTest|ParameterizedTest|Property|Test)\\b");
    private static final Map<String, List<Path>> SOURCES = ReactorModule.all().stream()
            .map(module -> module.path().resolve("src"))
            .flatMap(CitingPage::javaFiles)
            .collect(groupingBy(file -> file.getFileName().toString().replace(".java", "")));

    private final Path file;
    private final String text;

    /** @param path from the root of the checkout */
    CitingPage(String path) {
        file = ReactorModule.ROOT.resolve(path);
        text = read(file);
    }

    String text() {
        return text;
    }

    List<String> missingNames() {
        return NAME.matcher(text)
                .results()
                .filter(name -> !exists(name.group(1), name.group(2), name.group(3)))
                .map(MatchResult::group)
                .toList();
    }

    List<String> missingFiles() {
        return LINK.matcher(text)
                .results()
                .map(link -> link.group(1))
                .filter(target -> Files.notExists(file.resolveSibling(target)))
                .toList();
    }

    private static boolean exists(String type, String separator, String member) {
        return exists("", type, separator, member);
    }

    /**
     * Whether the sources have a type, and its member if one is named.
     *
     * @param folder the end of the folder that the type is in, such as {@code page/}; empty for any
     * @param separator {@code #} before a test, {@code .} before another member; {@code null} for the type alone
     */
    static boolean exists(String folder, String type, String separator, String member) {
        final Stream<String> texts = SOURCES.getOrDefault(type, List.of()).stream()
                .filter(file -> file.toString().endsWith("/" + folder + type + ".java"))
                .map(CitingPage::read);
        if (separator == null) {
            return texts.findAny().isPresent();
        }
        return texts.anyMatch(text -> separator.equals("#") ? hasTest(text, member) : hasMember(text, member));
    }

    static boolean anySourceHas(String text) {
        return SOURCES.values().stream()
                .flatMap(List::stream)
                .anyMatch(file -> read(file).contains(text));
    }

    /** A test has its annotation behind the empty line that divides it from the member before. */
    private static boolean hasTest(String text, String method) {
        final int declared = text.indexOf(" void " + method + "(");
        return declared >= 0
                && TEST.matcher(text.substring(text.lastIndexOf("\n\n", declared) + 1, declared))
                        .find();
    }

    private static boolean hasMember(String text, String member) {
        return Pattern.compile("(?m)\\b(?:class|enum|interface|record) " + member + "\\b"
                        + "|^ +(?!return )[\\w@][\\w<>\\[\\]?,.@ ]* " + member + "(?:\\(| = |;)")
                .matcher(text)
                .find();
    }

    private static Stream<Path> javaFiles(Path folder) {
        try (Stream<Path> files = Files.exists(folder) ? Files.walk(folder) : Stream.empty()) {
            return files.filter(file -> file.toString().endsWith(".java")).toList().stream();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static String read(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
