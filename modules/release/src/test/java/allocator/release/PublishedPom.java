package allocator.release;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import javax.xml.parsers.DocumentBuilderFactory;
import javax.xml.parsers.ParserConfigurationException;
import org.w3c.dom.Document;
import org.w3c.dom.Element;
import org.w3c.dom.Node;
import org.w3c.dom.NodeList;
import org.xml.sax.SAXException;

/** A pom as users of the artifact read it: by itself, without a parent. */
final class PublishedPom {
    /** The elements that Maven Central demands, as paths below {@code project}. */
    private static final List<String> REQUIRED = List.of(
            "modelVersion",
            "groupId",
            "artifactId",
            "version",
            "name",
            "description",
            "url",
            "licenses/license/name",
            "developers/developer/name",
            "scm/connection",
            "scm/developerConnection",
            "scm/url");

    private final Document document;
    private final String text;

    private PublishedPom(Document document, String text) {
        this.document = document;
        this.text = text;
    }

    static PublishedPom of(Path file) throws IOException {
        try {
            return new PublishedPom(
                    DocumentBuilderFactory.newDefaultInstance()
                            .newDocumentBuilder()
                            .parse(file.toFile()),
                    Files.readString(file));
        } catch (SAXException | ParserConfigurationException e) {
            throw new IOException(file + " is no pom", e);
        }
    }

    /** Returns what is wrong with it, in words. */
    List<String> faults() {
        final List<String> faults = new ArrayList<>();
        REQUIRED.stream()
                .filter(path -> text(path).isBlank())
                .map(path -> "has no " + path)
                .forEach(faults::add);
        if (!element("parent").isEmpty()) {
            faults.add("has a parent: it does not stand alone");
        }
        if (!element("repositories").isEmpty()) {
            faults.add("names repositories");
        }
        if (text.contains("SNAPSHOT")) {
            faults.add("names a snapshot");
        }
        if (text.contains("${")) {
            faults.add("has an expression that nothing resolves");
        }
        if (text.contains("file:/") || text.contains(System.getProperty("user.dir"))) {
            faults.add("has a path of the machine that built it");
        }
        return faults;
    }

    /** Returns the text of an element, empty if there is none. */
    String text(String path) {
        return element(path).stream()
                .findFirst()
                .map(Node::getTextContent)
                .map(String::strip)
                .orElse("");
    }

    boolean hasJar() {
        return Set.of("", "jar").contains(text("packaging"));
    }

    /** Returns the artifacts of a group that it depends on, as {@code artifactId:version}. */
    Set<String> dependencies(String group) {
        return names("dependencies/dependency", group);
    }

    /** Returns the artifacts of a group whose versions it manages, as {@code artifactId:version}. */
    Set<String> managed(String group) {
        return names("dependencyManagement/dependencies/dependency", group);
    }

    private Set<String> names(String path, String group) {
        final Set<String> names = new TreeSet<>();
        for (final Element dependency : element(path)) {
            if (child(dependency, "groupId").equals(group)) {
                names.add(child(dependency, "artifactId") + ":" + child(dependency, "version"));
            }
        }
        return names;
    }

    private static String child(Element parent, String name) {
        return children(parent, name).findFirst().map(Node::getTextContent).orElse("");
    }

    private List<Element> element(String path) {
        List<Element> found = List.of(document.getDocumentElement());
        for (final String name : path.split("/", -1)) {
            found = found.stream().flatMap(element -> children(element, name)).toList();
        }
        return found;
    }

    private static Stream<Element> children(Element parent, String name) {
        final NodeList nodes = parent.getChildNodes();
        return IntStream.range(0, nodes.getLength())
                .mapToObj(nodes::item)
                .filter(node -> node.getNodeName().equals(name))
                .map(Element.class::cast);
    }
}
