package allocator.architecture.tests;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Lines that keep the tree legible. */
class SourceLayoutTest {
    private static final int MAX_COLUMNS = 120;

    private static final String TEXT_BLOCK = "\"\"\"";
    private static final Pattern RULER = Pattern.compile("^\\s*//\\s*-{3,}");

    static List<ReactorModule> modules() {
        return ReactorModule.all();
    }

    @ParameterizedTest
    @MethodSource("modules")
    void linesFitAScreenAndNoneIsARuler(ReactorModule module) {
        assertThat(sources(module))
                .allSatisfy(source -> assertThat(outsideTextBlocks(lines(source)))
                        .as(source.toString())
                        .noneMatch(line -> RULER.matcher(line).find())
                        .allMatch(line -> line.length() <= MAX_COLUMNS));
    }

    /** Without this the rules above could hold for want of files. */
    @Test
    void sourcesAreFound() {
        assertThat(modules())
                .filteredOn(module -> mainSources(module).findAny().isPresent())
                .hasSizeGreaterThan(15);
    }

    /** The lines of a text block are output or input of a test, which cannot be broken. */
    private static List<String> outsideTextBlocks(List<String> lines) {
        final List<String> outside = new ArrayList<>();
        boolean isInside = false;
        for (final String line : lines) {
            if (!isInside) {
                outside.add(line);
            }
            isInside ^= line.split(TEXT_BLOCK, -1).length % 2 == 0;
        }
        return outside;
    }

    private static Stream<Path> mainSources(ReactorModule module) {
        return sources(module).filter(source -> source.startsWith(module.path().resolve("src/main")));
    }

    private static Stream<Path> sources(ReactorModule module) {
        final Path folder = module.path().resolve("src");
        if (Files.notExists(folder)) {
            return Stream.empty();
        }
        try (Stream<Path> files = Files.walk(folder)) {
            return files.filter(file -> file.toString().endsWith(".java")).toList().stream();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static List<String> lines(Path source) {
        try {
            return Files.readAllLines(source);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
