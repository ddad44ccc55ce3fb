package allocator.release;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.bouncycastle.openpgp.PGPSecretKeyRing;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Each rule rejects a bundle that lacks nothing else. */
class PortalRulesTest {
    private static final String USER = "com/example/user/1.0/user-1.0";

    @TempDir
    private Path repository;

    private SampleBundle bundle;
    private PGPSecretKeyRing key;

    @BeforeEach
    void make() throws Exception {
        key = TrialKey.make(SampleBundle.PASSPHRASE);
        bundle = SampleBundle.in(repository, key);
    }

    @Test
    void aWholeBundleIsAccepted() throws Exception {
        assertThat(bundle.rules().violations()).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                ".jar.asc",
                ".jar.md5",
                ".jar.sha1",
                ".jar.sha256",
                ".jar.sha512",
                ".pom.asc",
                ".pom.md5",
                "-sources.jar.sha1",
                "-javadoc.jar.asc"
            })
    void aMissingAttachmentIsFound(String ending) throws Exception {
        Files.delete(repository.resolve(USER + ending));
        assertThat(bundle.rules().violations()).containsExactly(USER + ending + " is missing");
    }

    @ParameterizedTest
    @ValueSource(strings = {".jar", "-sources.jar", "-javadoc.jar", ".pom"})
    void aMissingFileIsFound(String ending) throws Exception {
        Files.delete(repository.resolve(USER + ending));
        assertThat(bundle.rules().violations()).contains(USER + ending + " is missing");
    }

    @Test
    void aChangedFileFitsNeitherChecksumsNorSignature() throws Exception {
        Zip.pack(repository.resolve(USER + ".jar"), List.of("META-INF/LICENSE", "META-INF/NOTICE", "Other.class"));
        assertThat(bundle.rules().violations())
                .hasSize(5)
                .contains(USER + ".jar.asc is not the key's signature of its file")
                .contains(USER + ".jar.sha1 is not the checksum of its file");
    }

    @Test
    void aSignatureOfAnotherKeyIsFound() throws Exception {
        final PGPSecretKeyRing other = TrialKey.make(SampleBundle.PASSPHRASE);
        final Path jar = repository.resolve(USER + ".jar");
        Files.writeString(
                repository.resolve(USER + ".jar.asc"),
                Signatures.sign(Files.readAllBytes(jar), other, SampleBundle.PASSPHRASE));
        assertThat(bundle.rules().violations())
                .containsExactly(USER + ".jar.asc is not the key's signature of its file");
    }

    @Test
    void whatIsNoSignatureIsFound() throws Exception {
        Files.writeString(repository.resolve(USER + ".jar.asc"), "signed: me");
        assertThat(bundle.rules().violations())
                .containsExactly(USER + ".jar.asc is not the key's signature of its file");
    }

    static Stream<Arguments> jars() {
        return Stream.of(
                arguments(".jar", List.of("META-INF/NOTICE"), "has no META-INF/LICENSE"),
                arguments(".jar", List.of("META-INF/LICENSE"), "has no META-INF/NOTICE"),
                arguments("-sources.jar", List.of("A.class"), "has no .java"),
                arguments("-javadoc.jar", List.of("META-INF/MANIFEST.MF"), "has no content"));
    }

    @ParameterizedTest
    @MethodSource("jars")
    void anEmptyJarIsFound(String ending, List<String> content, String fault) throws Exception {
        final Path jar = repository.resolve(USER + ending);
        Zip.pack(jar, content);
        bundle.attach(jar);
        assertThat(bundle.rules().violations()).containsExactly(USER + ending + " " + fault);
    }

    static Stream<Arguments> poms() {
        return Stream.of(
                arguments("<name>Sample</name>", "", "has no name"),
                arguments("A sample.", "", "has no description"),
                arguments("<url>https://example.com</url>", "", "has no url"),
                arguments("<name>Apache-2.0</name>", "", "has no licenses/license/name"),
                arguments("<name>A developer</name>", "", "has no developers/developer/name"),
                arguments("scm:git:https://example.com/sample.git", "", "has no scm/connection"),
                arguments("<url>https://example.com/sample</url>", "", "has no scm/url"),
                arguments("<scm>", "<parent/><scm>", "has a parent: it does not stand alone"),
                arguments("<scm>", "<repositories/><scm>", "names repositories"),
                arguments("A sample.", "Of 1-SNAPSHOT", "names a snapshot"),
                arguments("A sample.", "${text}", "has an expression that nothing resolves"),
                arguments("A sample.", "file:///home/a", "has a path of the machine that built it"),
                arguments("<artifactId>user<", "<artifactId>loser<", "has the coordinates com.example:loser:1.0"),
                arguments("<artifactId>base<", "<artifactId>tests<", "needs tests:1.0, which the bundle lacks"));
    }

    @ParameterizedTest
    @MethodSource("poms")
    void anIncompletePomIsFound(String from, String to, String fault) throws Exception {
        bundle.editPom("user", from, to);
        assertThat(bundle.rules().violations()).containsExactly(USER + ".pom " + fault);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "maven-metadata.xml",
                "com/example/user/maven-metadata.xml",
                "com/example/user/1.0/notes.txt",
                "com/example/user/1.0/user-1.0-tests.jar",
                "com/example/user/1.0/user-2.0.jar",
                "com/example/user/1.0/user-1.0.zip.md5"
            })
    void aStrayFileIsFound(String name) throws Exception {
        Files.writeString(repository.resolve(name), "stray");
        assertThat(bundle.rules().violations()).singleElement().asString().startsWith(name + " is ");
    }

    @Test
    void anAttachmentWithoutFileIsFound() throws Exception {
        Files.writeString(repository.resolve(USER + "-cyclonedx.json.md5"), "0");
        assertThat(bundle.rules().violations()).containsExactly(USER + "-cyclonedx.json.md5 belongs to no file");
    }

    @Test
    void anotherVersionIsFound() throws Exception {
        final var rules = new PortalRules(repository, SampleBundle.GROUP, "2.0", key);
        assertThat(rules.violations()).isNotEmpty().allMatch(line -> line.endsWith("is no artifact of 2.0"));
    }

    @Test
    void aSnapshotIsFound() throws Exception {
        final var rules = new PortalRules(repository, SampleBundle.GROUP, "1.0-SNAPSHOT", key);
        assertThat(rules.violations()).contains("version 1.0-SNAPSHOT is a snapshot");
    }

    @Test
    void anEmptyBundleIsFound(@TempDir Path empty) throws Exception {
        final var rules = new PortalRules(empty, SampleBundle.GROUP, SampleBundle.VERSION, key);
        assertThat(rules.violations()).containsExactly("the bundle is empty");
    }
}
