package allocator.architecture.tests;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.File;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.lang.module.ModuleDescriptor;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.spi.ToolProvider;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * The compiler finds no fault in the documentation comments of what is published, and none that is missing. The Javadoc
 * itself is made by the profile {@code thorough}, by a release and by the site.
 */
class JavadocTest {
    /** Exported for modules of this project, no API. Their poms leave them out, too. */
    private static final Set<String> INTERNAL = Set.of(
            "allocator.onnxruntime.block",
            "allocator.onnxruntime.support",
            "allocator.provider.support.internal",
            "allocator.provider.support.platform",
            "allocator.runtime.inspection");

    /** JCuda's classes have a Javadoc of their own, and Spark's jars are not on the class path of these tests. */
    static Stream<ReactorModule> published() {
        return ReactorModule.all().stream()
                .filter(ReactorModule::isPublished)
                .filter(module -> module.descriptor().isPresent())
                .filter(module -> !exported(module.descriptor().get()).isEmpty())
                .filter(module -> !module.shortName().equals("jcuda"));
    }

    @ParameterizedTest
    @MethodSource("published")
    void thePublishedPackagesAreDocumented(ReactorModule module, @TempDir Path folder) throws IOException {
        final Path sources = module.path().resolve("src/main/java");
        final List<String> arguments = new ArrayList<>(List.of(
                "-d",
                folder.toString(),
                "-proc:none",
                "-Xlint:none",
                "-Werror",
                "--should-stop=ifNoError=FLOW",
                "-Xmaxwarns",
                "1000",
                "-Xdoclint:all/protected",
                "-Xdoclint/package:"
                        + String.join(",", exported(module.descriptor().orElseThrow())),
                "--module-path",
                libraries()));
        try (Stream<Path> files = Files.walk(sources)) {
            files.map(Path::toString).filter(file -> file.endsWith(".java")).forEach(arguments::add);
        }
        final StringWriter output = new StringWriter();
        final int code = ToolProvider.findFirst("javac")
                .orElseThrow()
                .run(new PrintWriter(output), new PrintWriter(output), arguments.toArray(String[]::new));
        assertThat(code).as("%s", output).isZero();
    }

    private static List<String> exported(ModuleDescriptor descriptor) {
        return descriptor.exports().stream()
                .filter(exports -> !exports.isQualified())
                .map(ModuleDescriptor.Exports::source)
                .filter(name -> !INTERNAL.contains(name))
                .sorted()
                .toList();
    }

    private static String libraries() {
        return Stream.concat(
                        ReactorModule.all().stream()
                                .map(module ->
                                        module.path().resolve("target/classes").toString()),
                        Stream.of(System.getProperty("java.class.path").split(File.pathSeparator, -1)))
                .distinct()
                .collect(Collectors.joining(File.pathSeparator));
    }
}
