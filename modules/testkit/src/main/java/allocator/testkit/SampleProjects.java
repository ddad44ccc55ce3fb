package allocator.testkit;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The projects of {@code docs/samples}, each copied to a folder of its own as a reader does. One run of Maven builds
 * all, with this project's artifacts from one repository; then each is run by the command of its README.
 */
public final class SampleProjects {
    /** Longer than any of the programs takes, Maven included. */
    private static final int MOST_MINUTES = 10;

    private static final Pattern COMMAND = Pattern.compile("(?s)```sh\n(?:mvn -q package && )?(.*?)\n```");
    private static final Pattern OUTPUT = Pattern.compile("(?s)\n\n```\n(.*?)```");

    private final Path folder;
    private final String log;

    private SampleProjects(Path folder, String log) {
        this.folder = folder;
        this.log = log;
    }

    /** Returns the names of the samples in {@code docs/samples}, those of their folders, sorted. */
    public static List<String> names(Path samples) throws IOException {
        try (Stream<Path> projects = Files.list(samples)) {
            return projects.filter(project -> Files.exists(project.resolve("pom.xml")))
                    .map(project -> project.getFileName().toString())
                    .sorted()
                    .toList();
        }
    }

    /**
     * Copies and builds all samples, and returns them. Maven and its local repository, where the libraries of others
     * are, are those of the system properties {@code samples.maven} and {@code samples.libraries}.
     *
     * @param samples {@code docs/samples}
     * @param folder an empty folder
     * @param repository has this project's artifacts
     * @param options of Maven
     * @throws AssertionError if the build fails; with what Maven printed
     * @throws IOException if a file cannot be copied
     * @throws InterruptedException if the thread is interrupted
     */
    public static SampleProjects build(Path samples, Path folder, Path repository, String... options)
            throws IOException, InterruptedException {
        final Path copy = folder.resolve("samples");
        try (Stream<Path> files = Files.walk(samples)) {
            for (final Path file : files.filter(Files::isRegularFile)
                    .filter(file -> !samples.relativize(file).toString().contains("/target/"))
                    .toList()) {
                final Path target = copy.resolve(samples.relativize(file).toString());
                Files.createDirectories(target.getParent());
                Files.copy(file, target);
            }
        }
        final String modules = names(samples).stream()
                .map(name -> "<module>" + name + "</module>")
                .collect(Collectors.joining());
        Files.writeString(copy.resolve("pom.xml"), """
                <project>
                  <modelVersion>4.0.0</modelVersion>
                  <groupId>com.example</groupId>
                  <artifactId>samples</artifactId>
                  <version>1.0</version>
                  <packaging>pom</packaging>
                  <modules>%s</modules>
                </project>
                """.formatted(modules));
        final Path settings = Files.writeString(folder.resolve("settings.xml"), """
                <settings>
                  <profiles>
                    <profile>
                      <id>staging</id>
                      <repositories>
                        <repository>
                          <id>staging</id>
                          <url>%s</url>
                          <releases><checksumPolicy>ignore</checksumPolicy></releases>
                        </repository>
                      </repositories>
                    </profile>
                  </profiles>
                  <activeProfiles><activeProfile>staging</activeProfile></activeProfiles>
                </settings>
                """.formatted(repository.toUri()));
        final Path local = folder.resolve("local");
        final List<String> maven = new ArrayList<>(List.of(
                Path.of(System.getProperty("samples.maven"), "bin", "mvn").toString(),
                "-B",
                "-ntp",
                "-s",
                settings.toString(),
                "-Dmaven.repo.local=" + local,
                "-Dmaven.repo.local.tail=" + System.getProperty("samples.libraries"),
                "-Dmaven.repo.local.tail.ignoreAvailability=true"));
        maven.addAll(List.of(options));
        maven.add("package");
        final String log = run(copy, maven);
        if (Files.notExists(local.resolve("io/github/javaallocator/java-allocator-spi"))) {
            throw new AssertionError("the artifacts are not those of " + repository + ": " + log);
        }
        return new SampleProjects(copy, log);
    }

    /**
     * Runs the program of a sample.
     *
     * @param name the sample
     * @return what it printed; of a sample whose command is Maven's alone, what Maven printed
     * @throws AssertionError if it fails; with what it printed
     * @throws IOException if it cannot be started
     * @throws InterruptedException if the thread is interrupted
     */
    public String run(String name) throws IOException, InterruptedException {
        final String command = first(COMMAND, name);
        return command.startsWith("mvn ") ? log : run(folder.resolve(name), List.of("sh", "-c", command));
    }

    /** Returns the lines that the README of a sample says that its program prints. */
    public String expected(String name) throws IOException {
        return first(OUTPUT, name);
    }

    private String first(Pattern pattern, String name) throws IOException {
        final Matcher found =
                pattern.matcher(Files.readString(folder.resolve(name).resolve("README.md")));
        if (!found.find()) {
            throw new AssertionError("the README of " + name + " has no command, or no output");
        }
        return found.group(1);
    }

    private static String run(Path directory, List<String> command) throws IOException, InterruptedException {
        final ProcessBuilder builder = new ProcessBuilder(command).directory(directory.toFile());
        final Map<String, String> environment = builder.environment();
        final String java = System.getProperty("java.home");
        environment.keySet().removeIf(name -> name.startsWith("MAVEN_"));
        environment.put("JAVA_HOME", java);
        environment.put("MAVEN_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC");
        environment.put("PATH", java + "/bin:" + environment.get("PATH"));
        return OwnJvm.run(builder, MOST_MINUTES);
    }
}
