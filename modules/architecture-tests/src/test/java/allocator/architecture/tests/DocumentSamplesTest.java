package allocator.architecture.tests;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Every Java sample of a document stands, word for word, in a source file that the build compiles. Indentation and line
 * breaks may differ.
 */
class DocumentSamplesTest {
    private static final Pattern SAMPLE = Pattern.compile("(?ms)^```java\\R(.*?)^```$");

    private static final List<String> SOURCES = filesEndingWith(".java").stream()
            .map(source -> squeezed(read(source)))
            .toList();

    /** A sample and where it stands. */
    record Sample(Path document, int number, String text) {
        @Override
        public String toString() {
            return document + ", sample " + number;
        }
    }

    static Stream<Sample> samples() {
        return filesEndingWith(".md").stream().flatMap(DocumentSamplesTest::samplesOf);
    }

    private static Stream<Sample> samplesOf(Path document) {
        List<String> texts = SAMPLE.matcher(read(document))
                .results()
                .map((MatchResult match) -> match.group(1))
                .toList();
        return Stream.iterate(0, i -> i < texts.size(), i -> i + 1)
                .map(i -> new Sample(ReactorModule.ROOT.relativize(document), i + 1, squeezed(texts.get(i))));
    }

    @ParameterizedTest(allowZeroInvocations = true)
    @MethodSource("samples")
    void samplesAreCompiled(Sample sample) {
        assertThat(SOURCES.stream().anyMatch(source -> source.contains(sample.text())))
                .as("a source file holds %s:%n%s", sample, sample.text())
                .isTrue();
    }

    private static String squeezed(String text) {
        return text.strip().replaceAll("\\s+", " ");
    }

    private static List<Path> filesEndingWith(String ending) {
        List<Path> files = new ArrayList<>();
        try {
            Files.walkFileTree(ReactorModule.ROOT, new SimpleFileVisitor<>() {
                @Override
                public FileVisitResult preVisitDirectory(Path folder, BasicFileAttributes attributes) {
                    String name = folder.getFileName().toString();
                    boolean isSkipped = name.equals("target") || name.startsWith(".");
                    return isSkipped && !folder.equals(ReactorModule.ROOT)
                            ? FileVisitResult.SKIP_SUBTREE
                            : FileVisitResult.CONTINUE;
                }

                @Override
                public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) {
                    if (file.toString().endsWith(ending)) {
                        files.add(file);
                    }
                    return FileVisitResult.CONTINUE;
                }
            });
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return files;
    }

    private static String read(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
