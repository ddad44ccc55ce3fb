package allocator.release;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import java.util.zip.GZIPInputStream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Projects of users, built by Maven and run. Their local repository is empty, and the bundle is the only place that has
 * this project's artifacts; other libraries come from the repository of this build, or from Maven Central.
 */
class ConsumerTest {
    private static final Path ROOT = Path.of("../..").toAbsolutePath().normalize();
    private static final Path SAMPLES = ROOT.resolve("modules/release/samples");
    private static final String JAVA =
            Path.of(System.getProperty("java.home"), "bin", "java").toString();

    @TempDir
    private static Path folder;

    @BeforeAll
    static void offerTheBundle() throws IOException {
        Zip.unpack(BundleTest.BUNDLE, folder.resolve("bundle"));
        Files.writeString(folder.resolve("settings.xml"), """
                <settings>
                  <profiles>
                    <profile>
                      <id>bundle</id>
                      <repositories>
                        <repository>
                          <id>bundle</id>
                          <url>%s</url>
                          <releases><checksumPolicy>fail</checksumPolicy></releases>
                        </repository>
                      </repositories>
                    </profile>
                  </profiles>
                  <activeProfiles><activeProfile>bundle</activeProfile></activeProfiles>
                </settings>
                """.formatted(
                        folder.resolve("bundle").toUri()));
    }

    @Test
    void onTheClassPath() throws Exception {
        final Path project = copy(SAMPLES.resolve("class-path"));
        writeFirstUse(project);
        build(project);
        assertThat(java(
                        project,
                        "--enable-native-access=ALL-UNNAMED",
                        "-cp",
                        path(project),
                        "com.example.first.FirstUse"))
                .contains("limit: 67108864", "bytes released");
    }

    @Test
    void onTheModulePath() throws Exception {
        final Path project = copy(SAMPLES.resolve("module-path"));
        writeFirstUse(project);
        build(project);
        assertThat(java(
                        project,
                        "--enable-native-access=java.allocator.cpu.reference",
                        "-p",
                        path(project),
                        "-m",
                        "com.example.first/com.example.first.FirstUse"))
                .contains("limit: 67108864", "bytes released");
    }

    @Test
    void aProviderConforms() throws Exception {
        final Path project = copy(ROOT.resolve("modules/conformance/kit/samples/buddy"));
        assertThat(build(project)).containsPattern("Tests run: [1-9]\\d+, Failures: 0, Errors: 0");
    }

    @Test
    void withOnnxRuntime() throws Exception {
        final Path project = copy(SAMPLES.resolve("onnxruntime"));
        final Path model = project.resolve("tiny_bert.onnx");
        try (InputStream content = new GZIPInputStream(Files.newInputStream(
                ROOT.resolve("modules/integrations/onnxruntime/src/test/resources/models/tiny_bert.onnx.gz")))) {
            Files.copy(content, model);
        }
        build(project);
        assertThat(java(
                        project,
                        "--enable-native-access=ALL-UNNAMED",
                        "-cp",
                        path(project),
                        "com.example.onnx.Limited",
                        model.toString()))
                .contains("limited: true", "runs, and held at most");
    }

    @Test
    void withItsOwnLogging() throws Exception {
        final Path project = copy(SAMPLES.resolve("logging"));
        final Path configuration = project.resolve("src/main/resources/logback.xml");
        Files.createDirectories(configuration.getParent());
        Files.writeString(configuration, sample("docs/logging.md", "xml", "ch.qos.logback"));
        build(project);
        assertThat(java(
                        project,
                        "--enable-native-access=ALL-UNNAMED",
                        "-cp",
                        path(project),
                        "com.example.logging.Application"))
                .contains("INFO  com.example.logging.Application - 1 live block")
                .contains("DEBUG allocator.runtime - registered cpu-reference with 1 devices");
    }

    private static void writeFirstUse(Path project) throws IOException {
        final Path file = project.resolve("src/main/java/com/example/first/FirstUse.java");
        Files.createDirectories(file.getParent());
        Files.writeString(
                file, "package com.example.first;\n\n" + sample("docs/first-use.md", "java", "class FirstUse"));
    }

    /** Returns the sample of a page that contains a word. */
    private static String sample(String page, String language, String word) throws IOException {
        return Pattern.compile("(?s)```" + language + "\n(.*?)```")
                .matcher(Files.readString(ROOT.resolve(page)))
                .results()
                .map(found -> found.group(1))
                .filter(text -> text.contains(word))
                .findFirst()
                .orElseThrow();
    }

    private static Path copy(Path project) throws IOException {
        final Path copy = folder.resolve(project.getFileName());
        try (Stream<Path> files = Files.walk(project)) {
            for (final Path file : files.filter(Files::isRegularFile).toList()) {
                final Path target = copy.resolve(project.relativize(file));
                Files.createDirectories(target.getParent());
                Files.copy(file, target);
            }
        }
        return copy;
    }

    /** Builds a project as its author does, and returns what Maven printed. */
    private static String build(Path project) throws IOException, InterruptedException {
        final Path repository = project.resolveSibling(project.getFileName() + "-repository");
        final String output = run(
                project,
                Path.of(System.getProperty("release.maven"), "bin", "mvn").toString(),
                "-B",
                "-ntp",
                "-s",
                folder.resolve("settings.xml").toString(),
                "-Dmaven.repo.local=" + repository,
                "-Dmaven.repo.local.tail=" + System.getProperty("release.libraries"),
                "-Dmaven.repo.local.tail.ignoreAvailability=true",
                "-Dallocator.version=" + BundleTest.VERSION,
                "verify");
        final Path spi = repository
                .resolve(BundleTest.GROUP.replace('.', '/'))
                .resolve("java-allocator-spi")
                .resolve(BundleTest.VERSION)
                .resolve("_remote.repositories");
        assertThat(spi).content().contains("java-allocator-spi-" + BundleTest.VERSION + ".jar>bundle=");
        return output;
    }

    /** Returns the classes and libraries of a built project. */
    private static String path(Path project) throws IOException {
        try (Stream<Path> libraries = Files.list(project.resolve("target/lib"))) {
            return Stream.concat(Stream.of(project.resolve("target/classes")), libraries.sorted())
                    .map(Path::toString)
                    .collect(Collectors.joining(System.getProperty("path.separator")));
        }
    }

    private static String java(Path project, String... arguments) throws IOException, InterruptedException {
        final List<String> command = new ArrayList<>(List.of(JAVA, "--illegal-native-access=deny"));
        command.addAll(Arrays.asList(arguments));
        return run(project, command.toArray(String[]::new));
    }

    private static String run(Path directory, String... command) throws IOException, InterruptedException {
        final Path log = Files.createTempFile(folder, "log", "");
        final ProcessBuilder builder = new ProcessBuilder(command)
                .directory(directory.toFile())
                .redirectErrorStream(true)
                .redirectOutput(log.toFile());
        builder.environment().put("JAVA_HOME", System.getProperty("java.home"));
        builder.environment().keySet().removeIf(name -> name.startsWith("MAVEN_"));
        final int status = builder.start().waitFor();
        final String output = Files.readString(log);
        assertThat(status).as(output).isZero();
        return output;
    }
}
