package allocator.architecture.tests;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.UnaryOperator;
import java.util.spi.ToolProvider;
import java.util.stream.Stream;

/**
 * Makes jars of the sample providers as a third party does: outside the reactor, with {@code javac} and {@code jar}.
 */
final class SampleJar {
    static final Path SAMPLES = ReactorModule.ROOT.resolve("modules/conformance/kit/samples");

    /** A provider in one file, which {@code docs/samples} shows. */
    private static final Path SMALLEST = ReactorModule.ROOT.resolve("docs/samples/provider");

    private static final String MODULE_INFO = "module-info.java";

    private SampleJar() {}

    /**
     * Makes a jar of edited sources, a module or one for the class path.
     *
     * @param sample {@code malloc}, or the folder of a sample below {@link #SAMPLES}
     * @param isModule whether the module's descriptor is compiled; if not, only the service file is in the jar
     * @param edit changes the text of each source, and of the service file
     * @param path the jars to compile against
     * @param folder a new folder for what is made on the way
     * @param jar the jar to write
     */
    static void make(String sample, boolean isModule, UnaryOperator<String> edit, String path, Path folder, Path jar)
            throws IOException {
        final Path main = (sample.equals("malloc") ? SMALLEST : SAMPLES.resolve(sample)).resolve("src/main");
        final Path sources = folder.resolve("sources");
        copy(main.resolve("java"), sources, edit);
        if (!isModule) {
            Files.delete(sources.resolve(MODULE_INFO));
        }
        final Path resources = folder.resolve("resources");
        copy(main.resolve("resources"), resources, edit);
        final Path classes = folder.resolve("classes");
        run("javac", "-d", classes, isModule ? "-p" : "-cp", path, javaFiles(sources));
        run("jar", "--create", "--file", jar, "-C", classes, ".", "-C", resources, ".");
    }

    private static void copy(Path from, Path to, UnaryOperator<String> edit) throws IOException {
        try (Stream<Path> files = Files.walk(from)) {
            for (final Path file : files.filter(Files::isRegularFile).toList()) {
                final Path copy = to.resolve(from.relativize(file).toString());
                Files.createDirectories(copy.getParent());
                Files.writeString(copy, edit.apply(Files.readString(file)));
            }
        }
    }

    /** Returns the sources below a folder. */
    static List<Path> javaFiles(Path folder) throws IOException {
        try (Stream<Path> files = Files.walk(folder)) {
            return files.filter(file -> file.toString().endsWith(".java")).toList();
        }
    }

    /** Runs a tool of the JDK, and fails with its output unless it succeeds. */
    static void run(String tool, Object... arguments) {
        final List<String> texts = new ArrayList<>();
        for (final Object argument : arguments) {
            if (argument instanceof List<?> several) {
                several.forEach(one -> texts.add(one.toString()));
            } else {
                texts.add(argument.toString());
            }
        }
        final StringWriter output = new StringWriter();
        final int code = ToolProvider.findFirst(tool)
                .orElseThrow()
                .run(new PrintWriter(output), new PrintWriter(output), texts.toArray(String[]::new));
        assertThat(code).as("%s: %s", tool, output).isZero();
    }
}
