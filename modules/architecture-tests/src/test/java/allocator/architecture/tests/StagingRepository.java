package allocator.architecture.tests;

import java.io.IOException;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.xml.transform.OutputKeys;
import javax.xml.transform.Transformer;
import javax.xml.transform.TransformerException;
import javax.xml.transform.TransformerFactory;
import javax.xml.transform.dom.DOMSource;
import javax.xml.transform.stream.StreamResult;
import org.w3c.dom.Element;

/**
 * A Maven repository with the jars of this build under the coordinates of a release. Its poms stand alone, as those of
 * a release do, and the bill of materials manages the versions of this project's artifacts alone.
 */
final class StagingRepository {
    private static final String GROUP = "io.github.javaallocator";
    private static final ReactorModule PARENT = new ReactorModule("");
    private static final Pattern PROPERTY = Pattern.compile("\\$\\{([^}]+)}");

    private StagingRepository() {}

    /** Writes the artifacts of every published module. */
    static void write(Path repository, String version) throws IOException {
        for (final ReactorModule module :
                ReactorModule.all().stream().filter(ReactorModule::isPublished).toList()) {
            final String artifact = module.artifactId();
            final Path folder = Files.createDirectories(repository
                    .resolve(GROUP.replace('.', '/'))
                    .resolve(artifact)
                    .resolve(version));
            final String name = artifact + "-" + version;
            Files.writeString(folder.resolve(name + ".pom"), pom(module, version));
            final Path jar = module.path().resolve("target").resolve(artifact + ".jar");
            if (Files.exists(jar)) {
                Files.copy(jar, folder.resolve(name + ".jar"));
            }
        }
    }

    private static String pom(ReactorModule module, String version) {
        final StringBuilder pom = new StringBuilder("<project><modelVersion>4.0.0</modelVersion>");
        append(pom, "groupId", GROUP);
        append(pom, "artifactId", module.artifactId());
        append(pom, "version", version);
        append(pom, "packaging", module.packaging());
        final boolean isBom = module.packaging().equals("pom");
        pom.append("<dependencyManagement><dependencies>");
        (isBom ? module : PARENT).shippedElements("dependencyManagement").forEach(one -> pom.append(xml(one)));
        pom.append("</dependencies></dependencyManagement><dependencies>");
        if (!isBom) {
            Stream.concat(PARENT.shippedElements("project"), module.shippedElements("project"))
                    .forEach(one -> pom.append(xml(one)));
        }
        pom.append("</dependencies></project>");
        return PROPERTY.matcher(pom)
                .replaceAll(property -> switch (property.group(1)) {
                    case "project.groupId" -> GROUP;
                    case "project.version" -> version;
                    default -> ReactorModule.property(property.group(1));
                })
                .replace(module.version(), version);
    }

    private static void append(StringBuilder pom, String name, String text) {
        pom.append('<')
                .append(name)
                .append('>')
                .append(text)
                .append("</")
                .append(name)
                .append('>');
    }

    private static String xml(Element element) {
        try {
            final StringWriter text = new StringWriter();
            final Transformer transformer =
                    TransformerFactory.newDefaultInstance().newTransformer();
            transformer.setOutputProperty(OutputKeys.OMIT_XML_DECLARATION, "yes");
            transformer.transform(new DOMSource(element), new StreamResult(text));
            return text.toString();
        } catch (TransformerException e) {
            throw new IllegalStateException(e);
        }
    }
}
