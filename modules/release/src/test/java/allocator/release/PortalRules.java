package allocator.release;

import static java.util.stream.Collectors.groupingBy;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import java.util.zip.ZipFile;
import org.bouncycastle.openpgp.PGPSecretKeyRing;

/**
 * The requirements of Maven Central's portal on a bundle (<a
 * href="https://central.sonatype.org/publish/requirements/">list</a>), and what this project adds: SHA-2 checksums,
 * poms that stand alone, licences in each jar, no version but the release's.
 *
 * @param repository the unpacked bundle
 * @param group the group of all artifacts
 * @param version the version of all artifacts
 * @param key verifies the signatures
 */
record PortalRules(Path repository, String group, String version, PGPSecretKeyRing key) {
    private static final Map<String, String> CHECKSUMS =
            new TreeMap<>(Map.of(".md5", "MD5", ".sha1", "SHA-1", ".sha256", "SHA-256", ".sha512", "SHA-512"));
    private static final String SIGNATURE = ".asc";

    /** What a component's file is called after {@code artifactId-version}; anything else is stray. */
    private static final Set<String> ENDINGS =
            Set.of(".pom", ".jar", "-sources.jar", "-javadoc.jar", "-cyclonedx.json");

    /** Returns every violation, one a line, each with the file. */
    List<String> violations() throws IOException {
        final List<String> violations = new ArrayList<>();
        if (version.contains("SNAPSHOT")) {
            violations.add("version " + version + " is a snapshot");
        }
        final Map<Path, List<Path>> folders = files().collect(groupingBy(Path::getParent));
        final Set<String> artifacts = artifacts();
        for (final Path folder : new TreeSet<>(folders.keySet())) {
            final Path expected = Path.of(group.replace('.', '/'))
                    .resolve(folder.getParent().getFileName())
                    .resolve(version);
            if (!relative(folder).equals(expected.toString())) {
                folders.get(folder).forEach(file -> violations.add(relative(file) + " is no artifact of " + version));
                continue;
            }
            checkComponent(folder, artifacts, violations);
        }
        if (artifacts.isEmpty()) {
            violations.add("the bundle is empty");
        }
        return violations;
    }

    /** Returns the artifacts of the bundle, as {@code artifactId:version}. */
    Set<String> artifacts() throws IOException {
        return files().filter(file -> file.toString().endsWith(".pom"))
                .map(file -> file.getParent().getParent().getFileName() + ":"
                        + file.getParent().getFileName())
                .collect(Collectors.toCollection(TreeSet::new));
    }

    /** Returns where a file of an artifact is. */
    Path file(String artifact, String ending) {
        return repository
                .resolve(group.replace('.', '/'))
                .resolve(artifact)
                .resolve(version)
                .resolve(artifact + "-" + version + ending);
    }

    private void checkComponent(Path folder, Set<String> artifacts, List<String> violations) throws IOException {
        final String artifact = folder.getParent().getFileName().toString();
        final String prefix = artifact + "-" + version;
        final Path pom = file(artifact, ".pom");
        if (Files.notExists(pom)) {
            violations.add(relative(pom) + " is missing");
            return;
        }
        checkPom(PublishedPom.of(pom), artifact, artifacts, violations);
        if (PublishedPom.of(pom).hasJar()) {
            requireEntry(file(artifact, ".jar"), "META-INF/LICENSE", violations);
            requireEntry(file(artifact, ".jar"), "META-INF/NOTICE", violations);
            requireEntry(file(artifact, "-sources.jar"), ".java", violations);
            requireEntry(file(artifact, "-javadoc.jar"), "", violations);
        }
        try (Stream<Path> files = Files.list(folder)) {
            for (final Path file : files.sorted().toList()) {
                final String name = file.getFileName().toString();
                final String content = withoutAttachment(name);
                if (!content.startsWith(prefix) || !ENDINGS.contains(content.substring(prefix.length()))) {
                    violations.add(relative(file) + " is stray");
                } else if (!content.equals(name)) {
                    if (Files.notExists(file.resolveSibling(content))) {
                        violations.add(relative(file) + " belongs to no file");
                    }
                } else {
                    checkAttachments(file, violations);
                }
            }
        }
    }

    private void checkPom(PublishedPom pom, String artifact, Set<String> artifacts, List<String> violations) {
        final String where = relative(file(artifact, ".pom"));
        pom.faults().forEach(fault -> violations.add(where + " " + fault));
        final String coordinates = pom.text("groupId") + ":" + pom.text("artifactId") + ":" + pom.text("version");
        if (!coordinates.equals(group + ":" + artifact + ":" + version)) {
            violations.add(where + " has the coordinates " + coordinates);
        }
        Stream.concat(pom.dependencies(group).stream(), pom.managed(group).stream())
                .filter(needed -> !artifacts.contains(needed))
                .forEach(needed -> violations.add(where + " needs " + needed + ", which the bundle lacks"));
    }

    private void requireEntry(Path jar, String ending, List<String> violations) throws IOException {
        if (Files.notExists(jar)) {
            violations.add(relative(jar) + " is missing");
            return;
        }
        try (ZipFile zip = new ZipFile(jar.toFile())) {
            if (zip.stream()
                    .noneMatch(entry -> !entry.isDirectory()
                            && !entry.getName().endsWith(".MF")
                            && entry.getName().endsWith(ending))) {
                violations.add(relative(jar) + " has no " + (ending.isEmpty() ? "content" : ending));
            }
        }
    }

    private void checkAttachments(Path file, List<String> violations) throws IOException {
        final byte[] content = Files.readAllBytes(file);
        for (final Map.Entry<String, String> checksum : CHECKSUMS.entrySet()) {
            final Path attached = file.resolveSibling(file.getFileName() + checksum.getKey());
            if (Files.notExists(attached)) {
                violations.add(relative(attached) + " is missing");
            } else if (!Files.readString(attached).strip().equals(digest(checksum.getValue(), content))) {
                violations.add(relative(attached) + " is not the checksum of its file");
            }
        }
        final Path signature = file.resolveSibling(file.getFileName() + SIGNATURE);
        if (Files.notExists(signature)) {
            violations.add(relative(signature) + " is missing");
        } else if (!Signatures.isValid(content, signature, key)) {
            violations.add(relative(signature) + " is not the key's signature of its file");
        }
    }

    private static String withoutAttachment(String name) {
        return Stream.concat(CHECKSUMS.keySet().stream(), Stream.of(SIGNATURE))
                .filter(name::endsWith)
                .findFirst()
                .map(ending -> name.substring(0, name.length() - ending.length()))
                .orElse(name);
    }

    /** Writes the checksums of a file beside it, as a deployment does. */
    static void writeChecksums(Path file) throws IOException {
        for (final Map.Entry<String, String> checksum : CHECKSUMS.entrySet()) {
            Files.writeString(
                    file.resolveSibling(file.getFileName() + checksum.getKey()),
                    digest(checksum.getValue(), Files.readAllBytes(file)));
        }
    }

    private static String digest(String algorithm, byte[] content) {
        try {
            return HexFormat.of().formatHex(MessageDigest.getInstance(algorithm).digest(content));
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException(e);
        }
    }

    private Stream<Path> files() {
        try (Stream<Path> files = Files.walk(repository)) {
            return files.filter(Files::isRegularFile).sorted().toList().stream();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private String relative(Path path) {
        return repository.relativize(path).toString();
    }
}
