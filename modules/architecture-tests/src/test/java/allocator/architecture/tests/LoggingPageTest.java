package allocator.architecture.tests;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** {@code docs/logging.md} lists every logger of the modules with the levels it uses, and no routine is above debug. */
class LoggingPageTest {
    private static final Pattern LOGGER =
            Pattern.compile("System\\s*\\.getLogger\\(\\s*(?:\"([^\"]+)\"|(\\w+)\\.class\\.getName\\(\\))\\s*\\)");
    private static final Pattern LEVEL = Pattern.compile("\\bLevel\\.([A-Z]+)\\b");
    private static final Pattern OF_ANOTHER_CLASS = Pattern.compile("\\b[A-Z]\\w*\\.LOGGER\\b");
    private static final Pattern ROW = Pattern.compile("(?m)^\\| (?:`(allocator[\\w.]*)` )?\\| `([A-Z]+)` \\| .*\\|$");

    @Test
    void thePageHasEveryLoggerWithItsLevels() throws IOException {
        assertThat(onPage()).isEqualTo(inCode());
    }

    @Test
    void aProgramThatConfiguresNothingSeesNoRoutine() throws IOException {
        assertThat(inCode().values())
                .allSatisfy(levels -> assertThat(levels).isSubsetOf("TRACE", "DEBUG", "WARNING", "ERROR"));
    }

    /** Also in a class that logs through the logger of another one. */
    @Test
    void noClassLogsAboveDebugWhatGoesAsPlanned() throws IOException {
        for (final ReactorModule module : ReactorModule.all()) {
            final Path sources = module.path().resolve("src/main/java");
            if (Files.exists(sources)) {
                for (final Path file : SampleJar.javaFiles(sources)) {
                    final String text = Files.readString(file);
                    if (OF_ANOTHER_CLASS.matcher(text).find()) {
                        assertThat(LEVEL.matcher(text).results().map(level -> level.group(1)))
                                .as(file.toString())
                                .isSubsetOf("TRACE", "DEBUG", "WARNING", "ERROR");
                    }
                }
            }
        }
    }

    private static Map<String, Set<String>> onPage() throws IOException {
        final Map<String, Set<String>> loggers = new TreeMap<>();
        final Matcher rows = ROW.matcher(Files.readString(ReactorModule.ROOT.resolve("docs/logging.md")));
        String logger = "";
        while (rows.find()) {
            logger = rows.group(1) == null ? logger : rows.group(1);
            loggers.computeIfAbsent(logger, _ -> new TreeSet<>()).add(rows.group(2));
        }
        return loggers;
    }

    private static Map<String, Set<String>> inCode() throws IOException {
        final Map<String, Set<String>> loggers = new TreeMap<>();
        for (final ReactorModule module : ReactorModule.all()) {
            final Path sources = module.path().resolve("src/main/java");
            // The module for Spark has no descriptor.
            if (Files.exists(sources.resolve("module-info.java"))
                    || (Files.exists(sources) && module.folder().startsWith("modules/integrations/"))) {
                try (Stream<Path> files = Files.walk(sources)) {
                    for (final Path file : files.filter(one -> one.toString().endsWith(".java"))
                            .toList()) {
                        add(loggers, sources, file);
                    }
                }
            }
        }
        return loggers;
    }

    private static void add(Map<String, Set<String>> loggers, Path sources, Path file) throws IOException {
        final String text = Files.readString(file);
        final Matcher logger = LOGGER.matcher(text);
        if (logger.find()) {
            final String name =
                    logger.group(1) == null ? className(logger.group(2), text, sources, file) : logger.group(1);
            final Set<String> levels = loggers.computeIfAbsent(name, _ -> new TreeSet<>());
            LEVEL.matcher(text).results().forEach(level -> levels.add(level.group(1)));
        }
    }

    /** Returns the full name of a class that a source names: an imported one, or one of its package. */
    private static String className(String simpleName, String text, Path sources, Path file) {
        final Matcher imported =
                Pattern.compile("(?m)^import ([\\w.]+\\." + simpleName + ");").matcher(text);
        if (imported.find()) {
            return imported.group(1);
        }
        return sources.relativize(file.resolveSibling(simpleName)).toString().replace('/', '.');
    }
}
