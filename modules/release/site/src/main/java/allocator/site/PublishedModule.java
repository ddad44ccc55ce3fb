package allocator.site;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.jsoup.Jsoup;
import org.jsoup.nodes.Document;
import org.jsoup.nodes.Element;
import org.jsoup.parser.Parser;

/**
 * A module whose API is part of a release.
 *
 * @param folder its folder
 * @param pom its Maven model
 */
record PublishedModule(Path folder, Document pom) {
    private static final String ARTIFACTS = "java-allocator-";
    private static final String INTRODUCTION = "/package-info.java";
    private static final String MODULES = "java.allocator.";

    /** The modules of the root pom that a release has, but for repackaged classes of others. */
    static List<PublishedModule> in(Checkout checkout) throws IOException {
        final List<PublishedModule> modules = new ArrayList<>();
        for (final String folder :
                pom(checkout.root()).select("project > modules > module").eachText()) {
            final PublishedModule module = new PublishedModule(
                    checkout.root().resolve(folder), pom(checkout.root().resolve(folder)));
            if (module.isPublished() && Files.isDirectory(module.sources())) {
                modules.add(module);
            }
        }
        return modules;
    }

    private static Document pom(Path folder) throws IOException {
        return Jsoup.parse(Files.readString(folder.resolve("pom.xml")), "", Parser.xmlParser());
    }

    /** The classes of {@code jcuda} are those of JCuda, which has a Javadoc of its own. */
    private boolean isPublished() {
        return !pom.select("project > properties > maven\\.deploy\\.skip")
                        .text()
                        .equals("true")
                && !artifact().equals("java-allocator-jcuda");
    }

    private String artifact() {
        return pom.select("project > artifactId").text();
    }

    String name() {
        return MODULES + artifact().substring(ARTIFACTS.length()).replace('-', '.');
    }

    Path sources() {
        return folder.resolve("src/main/java");
    }

    boolean hasDescriptor() {
        return Files.exists(sources().resolve("module-info.java"));
    }

    /** A descriptor for a module without: it requires what its pom does, and exports packages with an introduction. */
    String descriptor() throws IOException {
        final StringBuilder text = new StringBuilder("/** ")
                .append(pom.select("project > description").text())
                .append(" On the class path only. */\n")
                .append("@SuppressWarnings({\"requires-automatic\", \"requires-transitive-automatic\"})\n")
                .append("module ")
                .append(name())
                .append(" {\n    requires static org.jspecify;\n");
        for (final Element dependency : pom.select("project > dependencies > dependency")) {
            final String artifact = dependency.select("artifactId").text();
            if (artifact.startsWith(ARTIFACTS)
                    && !List.of("test", "runtime")
                            .contains(dependency.select("scope").text())) {
                text.append("    requires transitive ")
                        .append(MODULES)
                        .append(artifact.substring(ARTIFACTS.length()).replace('-', '.'))
                        .append(";\n");
            }
        }
        try (Stream<Path> files = Files.walk(sources())) {
            files.map(file -> sources().relativize(file).toString())
                    .filter(file -> file.endsWith(INTRODUCTION))
                    .map(file -> file.substring(0, file.length() - INTRODUCTION.length())
                            .replace('/', '.'))
                    .sorted()
                    .forEach(name -> text.append("    exports ").append(name).append(";\n"));
        }
        return text.append("}\n").toString();
    }
}
