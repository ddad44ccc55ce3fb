package allocator.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The search for a JDK of {@code ./mvnw} and {@code ./allocator}, among folders that look like JDKs. */
class FindJdkTest {
    private static final Path SCRIPT = LauncherTest.checkout().resolve(".mvn/find-jdk.sh");

    @TempDir
    private Path folder;

    private Path jdk(String name, String version) throws IOException {
        final Path home = folder.resolve(name);
        Files.createDirectories(home.resolve("bin"));
        for (final String program : new String[] {"java", "javac"}) {
            Files.setPosixFilePermissions(
                    Files.createFile(home.resolve("bin").resolve(program)),
                    PosixFilePermissions.fromString("rwxr-xr-x"));
        }
        Files.writeString(home.resolve("release"), "JAVA_VERSION=\"" + version + "\"\n");
        return home.toRealPath();
    }

    /** Runs the search where no other JDK is in front of the given ones, and prints what it exports. */
    private Outcome find(String javaHome, String path) throws Exception {
        final ProcessBuilder search =
                new ProcessBuilder("/bin/sh", "-c", ". \"$0\" || exit 1; exec printenv JAVA_HOME", SCRIPT.toString());
        search.environment().clear();
        search.environment().putAll(Map.of("PATH", path, "HOME", "/nonexistent", "JAVA_HOME", javaHome));
        final Process process = search.redirectOutput(folder.resolve("out").toFile())
                .redirectError(folder.resolve("err").toFile())
                .start();
        return new Outcome(
                process.waitFor(), Files.readString(folder.resolve("out")), Files.readString(folder.resolve("err")));
    }

    @Test
    void anOlderOneInJavaHomeIsPassedOver() throws Exception {
        final Path old = jdk("jdk 17", "17.0.9");
        final Path wanted = jdk("jdk 25", "25.0.3");
        Files.createDirectories(folder.resolve("links"));
        Files.createSymbolicLink(folder.resolve("links/java"), wanted.resolve("bin/java"));
        final Outcome outcome = find(old.toString(), folder.resolve("links") + ":/usr/bin:/bin");
        assertThat(outcome).isEqualTo(new Outcome(0, wanted + "\n", ""));
    }

    @Test
    void javaHomeComesFirst() throws Exception {
        final Path named = jdk("named", "25");
        final Path onPath = jdk("on path", "25.0.3");
        assertThat(find(named.toString(), onPath.resolve("bin") + ":/usr/bin:/bin")
                        .out())
                .isEqualTo(named + "\n");
    }

    @Test
    void versionsThatBeginWithTheSameDigitsAreOthers() throws Exception {
        final Path later = jdk("jdk 250", "250.0.1");
        final Path wanted = jdk("jdk 25", "25.0.3");
        assertThat(find(later.toString(), wanted.resolve("bin") + ":/usr/bin:/bin")
                        .out())
                .isEqualTo(wanted + "\n");
    }
}
