package allocator.architecture.tests;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.module.ModuleDescriptor;
import java.lang.module.ModuleFinder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import javax.xml.parsers.DocumentBuilderFactory;
import javax.xml.parsers.ParserConfigurationException;
import org.w3c.dom.Document;
import org.w3c.dom.Element;
import org.w3c.dom.Node;
import org.w3c.dom.NodeList;
import org.xml.sax.SAXException;

/**
 * A Maven module of the root pom.
 *
 * @param folder its path below the root, for instance {@code modules/arena}
 */
record ReactorModule(String folder) {
    static final Path ROOT = root();

    private static final String SCOPE_OF_TESTS = "test";

    /** Every Maven module, in the order of the root pom. */
    static List<ReactorModule> all() {
        return texts(pom(ROOT), "modules", "module")
                .distinct()
                .map(ReactorModule::new)
                .toList();
    }

    /** The descriptors of all modules that have one. */
    static List<ModuleDescriptor> descriptors() {
        return all().stream().flatMap(module -> module.descriptor().stream()).toList();
    }

    Path path() {
        return ROOT.resolve(folder);
    }

    /** The last word of the folder: {@code cpu-reference} for {@code providers/cpu-reference}. */
    String shortName() {
        return path().getFileName().toString();
    }

    boolean isProvider() {
        return folder.startsWith("providers/");
    }

    String artifactId() {
        return texts(pom(path()), "project", "artifactId").findFirst().orElseThrow();
    }

    String version() {
        return texts(pom(path()), "parent", "version").findFirst().orElseThrow();
    }

    /** A property of the root pom. */
    static String property(String name) {
        return texts(pom(ROOT), "properties", name).findFirst().orElseThrow();
    }

    /** The artifacts that the module's pom depends on, in any scope. */
    Set<String> dependencies() {
        return texts(pom(path()), "dependency", "artifactId").collect(Collectors.toSet());
    }

    /** The artifacts that the users of this module get with it. */
    Set<String> shippedDependencies() {
        return Stream.of("project", "dependencyManagement")
                .flatMap(this::shippedElements)
                .map(dependency -> text(dependency, "artifactId"))
                .collect(Collectors.toSet());
    }

    /** The dependencies of its users, those of the module itself or those whose versions it manages. */
    Stream<Element> shippedElements(String section) {
        final NodeList nodes = pom(path()).getElementsByTagName("dependency");
        return IntStream.range(0, nodes.getLength())
                .mapToObj(i -> (Element) nodes.item(i))
                .filter(dependency ->
                        dependency.getParentNode().getParentNode().getNodeName().equals(section))
                .filter(dependency -> !SCOPE_OF_TESTS.equals(text(dependency, "scope")));
    }

    String packaging() {
        return texts(pom(path()), "project", "packaging").findFirst().orElse("jar");
    }

    /** Whether a release has it. */
    boolean isPublished() {
        return texts(pom(path()), "properties", "maven.deploy.skip").noneMatch("true"::equals);
    }

    /** The compiled descriptor; empty if the sources declare no module. */
    Optional<ModuleDescriptor> descriptor() {
        if (Files.notExists(path().resolve("src/main/java/module-info.java"))) {
            return Optional.empty();
        }
        return ModuleFinder.of(path().resolve("target/classes")).findAll().stream()
                .map(reference -> reference.descriptor())
                .findFirst()
                .or(() -> {
                    throw new IllegalStateException(folder + " is not built: run this test with ./mvnw verify");
                });
    }

    /** The text of the first element of a name, empty if there is none. */
    static String text(Element parent, String name) {
        final Node node = parent.getElementsByTagName(name).item(0);
        return node == null ? "" : node.getTextContent().strip();
    }

    private static Path root() {
        var folder = Path.of("").toAbsolutePath();
        while (Files.notExists(folder.resolve("mvnw"))) {
            folder = folder.getParent();
        }
        return folder;
    }

    private static Document pom(Path folder) {
        try {
            return DocumentBuilderFactory.newDefaultInstance()
                    .newDocumentBuilder()
                    .parse(folder.resolve("pom.xml").toFile());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (SAXException | ParserConfigurationException e) {
            throw new IllegalStateException(e);
        }
    }

    /** The texts of all elements {@code name} directly below an element {@code parent}. */
    private static Stream<String> texts(Document pom, String parent, String name) {
        NodeList nodes = pom.getElementsByTagName(name);
        return IntStream.range(0, nodes.getLength())
                .mapToObj(nodes::item)
                .filter(node -> ((Element) node.getParentNode()).getTagName().equals(parent))
                .map(Node::getTextContent)
                .map(String::strip);
    }

    @Override
    public String toString() {
        return folder;
    }
}
