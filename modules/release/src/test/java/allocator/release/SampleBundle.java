package allocator.release;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.bouncycastle.openpgp.PGPException;
import org.bouncycastle.openpgp.PGPSecretKeyRing;

/** A bundle that keeps all rules: a library that depends on another one, and a list of both. */
record SampleBundle(PortalRules rules) {
    static final String GROUP = "com.example";
    static final String VERSION = "1.0";
    static final String PASSPHRASE = "sample";

    static SampleBundle in(Path repository, PGPSecretKeyRing key) throws IOException, PGPException {
        final SampleBundle bundle = new SampleBundle(new PortalRules(repository, GROUP, VERSION, key));
        bundle.add("base", "");
        bundle.add("user", dependency("base"));
        bundle.add(
                "bom",
                "<packaging>pom</packaging><dependencyManagement>" + dependency("user") + "</dependencyManagement>");
        return bundle;
    }

    private void add(String artifact, String rest) throws IOException, PGPException {
        final Path pom = rules.file(artifact, ".pom");
        Files.createDirectories(pom.getParent());
        Files.writeString(pom, pom(artifact, rest));
        if (!rest.contains("packaging")) {
            Zip.pack(rules.file(artifact, ".jar"), List.of("META-INF/LICENSE", "META-INF/NOTICE", "A.class"));
            Zip.pack(rules.file(artifact, "-sources.jar"), List.of("A.java"));
            Zip.pack(rules.file(artifact, "-javadoc.jar"), List.of("index.html"));
        }
        try (Stream<Path> files = Files.list(pom.getParent())) {
            for (final Path file : files.toList()) {
                attach(file);
            }
        }
    }

    /** Writes checksums and signature of a file. */
    void attach(Path file) throws IOException, PGPException {
        PortalRules.writeChecksums(file);
        Files.writeString(
                file.resolveSibling(file.getFileName() + ".asc"),
                Signatures.sign(Files.readAllBytes(file), rules.key(), PASSPHRASE));
    }

    /** Replaces text of a pom, and signs it as if it were right. */
    void editPom(String artifact, String from, String to) throws IOException, PGPException {
        final Path pom = rules.file(artifact, ".pom");
        final String text = Files.readString(pom);
        if (!text.contains(from)) {
            throw new IllegalArgumentException("the pom of " + artifact + " has no " + from);
        }
        Files.writeString(pom, text.replace(from, to));
        attach(pom);
    }

    private static String dependency(String artifact) {
        return "<dependencies><dependency><groupId>com.example</groupId><artifactId>" + artifact
                + "</artifactId><version>1.0</version></dependency></dependencies>";
    }

    private static String pom(String artifact, String rest) {
        return """
                <project>
                  <modelVersion>4.0.0</modelVersion>
                  <groupId>com.example</groupId>
                  <artifactId>%s</artifactId>
                  <version>1.0</version>
                  <name>Sample</name>
                  <description>A sample.</description>
                  <url>https://example.com</url>
                  <licenses><license><name>Apache-2.0</name></license></licenses>
                  <developers><developer><name>A developer</name></developer></developers>
                  <scm>
                    <connection>scm:git:https://example.com/sample.git</connection>
                    <developerConnection>scm:git:ssh://example.com/sample.git</developerConnection>
                    <url>https://example.com/sample</url>
                  </scm>
                  %s
                </project>
                """.formatted(artifact, rest);
    }
}
