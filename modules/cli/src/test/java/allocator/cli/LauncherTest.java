package allocator.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The script {@code allocator} at the root, in a tree of stand-ins: a build that writes a line to its log, and a Java
 * that prints its arguments.
 */
class LauncherTest {
    private static final Path SCRIPT = checkout().resolve("allocator");

    @TempDir
    private Path folder;

    private Path root;

    /** Returns the root of the checkout. */
    static Path checkout() {
        Path parent = Path.of("").toAbsolutePath();
        while (Files.notExists(parent.resolve("allocator"))) {
            parent = parent.getParent();
        }
        return parent;
    }

    @BeforeEach
    void makeTree() throws IOException {
        root = folder.resolve("a tree with spaces");
        Files.createDirectories(root.resolve(".mvn"));
        Files.createDirectories(root.resolve("modules/cli/src/main/java"));
        Files.createDirectories(root.resolve("spi/src"));
        Files.createDirectories(root.resolve("providers/some/src"));
        Files.createDirectories(root.resolve("traces"));
        Files.writeString(root.resolve("pom.xml"), "<project/>");
        Files.copy(SCRIPT, root.resolve("allocator"));
        final String locale = Files.readAllLines(checkout().resolve(".mvn/find-jdk.sh")).stream()
                .filter(line -> line.contains("LC_ALL=C.UTF-8"))
                .collect(Collectors.joining("\n"));
        Files.writeString(root.resolve(".mvn/find-jdk.sh"), "export root; JAVA_HOME=$root/jdk\n" + locale);
        executable(
                "jdk/bin/java",
                "for argument; do echo \"[$argument]\"; case $argument in -XX:AOTCache=*) cache=${argument#*=};; "
                        + "*AOTMode=create) making=yes;; esac; done\n"
                        + "if [ -n \"$making\" ]; then echo made >>\"$root/made\"; echo cache >\"$cache\"; fi");
        executable(
                "mvnw",
                "echo built; d=\"$(dirname \"$0\")/modules/cli/target/distribution\"; mkdir -p \"$d/lib\"; "
                        + "touch \"$d/java.args\"");
        age();
    }

    private void executable(String name, String body) throws IOException {
        final Path file = root.resolve(name);
        Files.createDirectories(file.getParent());
        Files.writeString(file, "#!/bin/sh\n" + body + "\n");
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rwxr-xr-x"));
    }

    /** Makes everything in the tree older than what is written from now on. */
    private void age() throws IOException {
        try (var all = Files.walk(root)) {
            for (final Path file : all.toList()) {
                Files.setLastModifiedTime(file, FileTime.from(Instant.now().minusSeconds(60)));
            }
        }
    }

    private Outcome run(Path script, String... arguments) throws Exception {
        final List<String> command = new ArrayList<>(List.of(script.toString()));
        command.addAll(Arrays.asList(arguments));
        return run(new ProcessBuilder(command));
    }

    private Outcome run(ProcessBuilder command) throws Exception {
        final Process process = command.directory(folder.toFile())
                .redirectOutput(folder.resolve("out").toFile())
                .redirectError(folder.resolve("err").toFile())
                .start();
        assertThat(process.waitFor(1, TimeUnit.MINUTES)).isTrue();
        return new Outcome(
                process.exitValue(), Files.readString(folder.resolve("out")), Files.readString(folder.resolve("err")));
    }

    @Test
    void buildsOnceAndSaysSoOnStandardError() throws Exception {
        final Outcome first = run(root.resolve("allocator"), "replay", "a file", "--json", "x");
        assertThat(first.err())
                .startsWith("allocator: building for the first time")
                .hasLineCount(1);
        assertThat(first.exitCode()).isZero();
        assertThat(first.out().lines())
                .first()
                .isEqualTo("[@" + root.toRealPath() + "/modules/cli/target/distribution/java.args]");
        assertThat(first.out()).endsWith("[replay]\n[a file]\n[--json]\n[x]\n");
        assertThat(first.out()).contains("[-Dallocator.terminal=]\n");
        final Outcome second = run(root.resolve("allocator"));
        assertThat(second.err()).isEmpty();
        assertThat(second.exitCode()).isZero();
    }

    @Test
    void buildsAgainWhenASourceIsNewer() throws Exception {
        run(root.resolve("allocator"));
        age();
        Files.writeString(root.resolve("spi/src/New.java"), "class New {}");
        assertThat(run(root.resolve("allocator")).err())
                .startsWith("allocator: the sources have changed, building")
                .hasLineCount(1);
        assertThat(run(root.resolve("allocator")).err()).isEmpty();
    }

    @Test
    void buildsAgainWhenASourceWasSavedDuringTheBuild() throws Exception {
        executable(
                "mvnw",
                "d=\"$(dirname \"$0\")\"; mkdir -p \"$d/modules/cli/target/distribution\"; sleep 0.1; "
                        + "touch \"$d/spi/src/Late.java\"; sleep 0.1; "
                        + "touch \"$d/modules/cli/target/distribution/java.args\"");
        run(root.resolve("allocator"));
        assertThat(run(root.resolve("allocator")).err()).startsWith("allocator: the sources have changed, building");
    }

    @Test
    void worksThroughSymbolicLinks() throws Exception {
        final Path direct = Files.createSymbolicLink(folder.resolve("direct"), root.resolve("allocator"));
        final Path relative = Files.createSymbolicLink(folder.resolve("relative"), Path.of("direct"));
        assertThat(run(direct).exitCode()).isZero();
        assertThat(run(relative).out()).startsWith("[@" + root.toRealPath());
    }

    /** The launcher of the download, with a cache, on a Java that prints its locale and its arguments. */
    private void makeDownload() throws IOException {
        executable("download/runtime/bin/java", "for argument; do echo \"[$argument]\"; done; echo \"locale $LC_ALL\"");
        Files.createDirectories(root.resolve("download/bin"));
        Files.copy(
                checkout().resolve("modules/release/download/src/allocator"), root.resolve("download/bin/allocator"));
        Files.setPosixFilePermissions(
                root.resolve("download/bin/allocator"), PosixFilePermissions.fromString("rwxr-xr-x"));
        Files.writeString(root.resolve("download/start.aot"), "cache");
    }

    /** Where {@code CDPATH} is set, {@code cd} looks there first, and prints what it has found. */
    @Test
    void startsByARelativePathWhereCdpathIsSet() throws Exception {
        makeDownload();
        age();
        for (final String program : List.of("allocator", "download/bin/allocator")) {
            final ProcessBuilder command = new ProcessBuilder("/bin/sh", root.getFileName() + "/" + program);
            command.environment().put("CDPATH", ".:/");
            final Outcome outcome = run(command);
            assertThat(outcome.exitCode()).as(outcome.err()).isZero();
            assertThat(outcome.out()).startsWith("[@" + root.toRealPath());
        }
    }

    @Test
    void aColonInThePathIsOneLine() throws Exception {
        makeDownload();
        final Path other = folder.resolve("a:b");
        Files.move(root, other);
        for (final String program : List.of("allocator", "download/bin/allocator")) {
            final Outcome outcome = run(other.resolve(program));
            assertThat(outcome.exitCode()).isEqualTo(1);
            assertThat(outcome.out()).isEmpty();
            assertThat(outcome.err())
                    .startsWith("allocator: Java starts from no folder with a colon in its path")
                    .contains(other.toRealPath().toString())
                    .hasLineCount(1);
        }
    }

    @Test
    void theUsersCollectorAndCacheTakeThePlaceOfItsOwn() throws Exception {
        makeDownload();
        age();
        for (final String program : List.of("allocator", "download/bin/allocator")) {
            final ProcessBuilder command = new ProcessBuilder("/bin/sh", root.getFileName() + "/" + program);
            command.environment().keySet().removeAll(List.of("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"));
            assertThat(run(command).out()).contains("[-XX:AOTCache=").doesNotContain("SerialGC");
            command.environment().put("JAVA_TOOL_OPTIONS", "-Xmx1g -XX:+UseZGC");
            assertThat(run(command).out()).contains("[-XX:AOTCache=", "[-XX:-UseSerialGC]");
            command.environment().put("JAVA_TOOL_OPTIONS", "");
            command.environment().put("JDK_JAVA_OPTIONS", "@options");
            assertThat(run(command).out()).contains("[-XX:AOTCache=", "[-XX:-UseSerialGC]");
            command.environment().put("JDK_JAVA_OPTIONS", "-Xshare:off");
            assertThat(run(command).out()).doesNotContain("AOTCache", "SerialGC");
        }
    }

    /** The folder is an ASCII one: what matters is how Java reads its arguments. */
    @Test
    void whereTheLocaleIsNotOfUtf8JavaStartsInThatOfUtf8() throws Exception {
        executable("jdk/bin/java", "echo \"locale $LC_ALL\"");
        makeDownload();
        age();
        for (final String program : List.of("allocator", "download/bin/allocator")) {
            for (final String locale : List.of("", "C", "xx_XX.UTF-8", "C.UTF-8")) {
                final ProcessBuilder command = new ProcessBuilder("/bin/sh", root.getFileName() + "/" + program);
                command.environment().clear();
                command.environment().put("PATH", System.getenv("PATH"));
                command.environment().put("LANG", locale);
                assertThat(run(command).out().lines().filter(line -> line.startsWith("locale")))
                        .as(program + " where LANG is '" + locale + "'")
                        .containsExactly(locale.equals("C.UTF-8") ? "locale " : "locale C.UTF-8");
            }
        }
    }

    @Test
    void aCacheThatIsMadeWithoutABuildIsAnnounced() throws Exception {
        run(root.resolve("allocator"));
        Files.delete(root.resolve("modules/cli/target/distribution/start.aot"));
        assertThat(run(root.resolve("allocator")).err())
                .startsWith("allocator: preparing quick starts")
                .hasLineCount(1);
        assertThat(run(root.resolve("allocator")).err()).isEmpty();
    }

    @Test
    void aFailedBuildIsOneLineThatNamesTheLog() throws Exception {
        executable("mvnw", "echo 'what went wrong'; exit 7");
        final Outcome outcome = run(root.resolve("allocator"));
        final Path log = root.toRealPath().resolve("modules/cli/target/build.log");
        assertThat(outcome.exitCode()).isEqualTo(1);
        assertThat(outcome.out()).isEmpty();
        assertThat(outcome.err().lines()).last().isEqualTo("allocator: the build failed, see " + log);
        assertThat(log).hasContent("what went wrong");
    }

    /** A read-only checkout, but also where the tests run as a user who may write everywhere. */
    @Test
    void whereNothingCanBeWrittenItSaysSoInsteadOfBuilding() throws Exception {
        final Path target = root.resolve("modules/cli/target");
        Files.writeString(target, "in the place of the folder");
        final Outcome outcome = run(root.resolve("allocator"));
        assertThat(outcome.exitCode()).isEqualTo(1);
        assertThat(outcome.out()).isEmpty();
        assertThat(outcome.err().lines())
                .containsExactly(
                        "allocator: cannot write " + root.toRealPath() + "/modules/cli/target/build.log, as a build"
                                + " needs: use a copy of " + root.toRealPath() + " that can be written to");

        Files.delete(target);
        Files.createDirectories(target.resolve("build.log"));
        assertThat(run(root.resolve("allocator")).err()).contains("cannot write");
    }

    @Test
    void makesACacheAfterEachBuildAndStartsWithIt() throws Exception {
        final String option = "[-XX:AOTCache=" + root.toRealPath() + "/modules/cli/target/distribution/start.aot]\n";
        assertThat(run(root.resolve("allocator"), "providers").out()).contains(option);
        assertThat(run(root.resolve("allocator"), "providers").out()).contains(option);
        assertThat(root.resolve("made")).hasContent("made");
        age();
        Files.writeString(root.resolve("modules/cli/target/distribution/lib/new.jar"), "");
        assertThat(run(root.resolve("allocator"), "providers").out()).contains(option);
        assertThat(root.resolve("made")).hasContent("made\nmade");
    }

    @Test
    void whereJavaMakesNoCacheItStartsWithoutAndDoesNotTryAgain() throws Exception {
        executable(
                "jdk/bin/java",
                "for argument; do echo \"[$argument]\"; case $argument in *AOTMode=*) "
                        + "echo tried >>\"$root/tried\"; echo 'an error' >&2; exit 1;; esac; done");
        age();
        for (int i = 0; i < 2; i++) {
            final Outcome outcome = run(root.resolve("allocator"), "providers");
            assertThat(outcome.exitCode()).isZero();
            assertThat(outcome.out()).doesNotContain("AOT").endsWith("[providers]\n");
            assertThat(outcome.err()).doesNotContain("an error");
        }
        assertThat(root.resolve("tried")).hasContent("tried");
    }

    /** By a signal that no build server ignores. Each shell has its own rule for one that its program has taken. */
    @ParameterizedTest
    @ValueSource(strings = {"/bin/sh", "/bin/bash"})
    void anInterruptWhileItMakesTheCacheEndsItAndLeavesNothing(String shell) throws Exception {
        assumeTrue(Files.isExecutable(Path.of(shell)) && Files.isExecutable(Path.of("/usr/bin/setsid")));
        executable(
                "jdk/bin/java",
                "for argument; do case $argument in -XX:AOTConfiguration=*) touch \"${argument#*=}\";; esac; done\n"
                        + "trap 'exit 143' TERM; echo interrupted >>\"$root/interrupted\"; kill -TERM 0; exit 143");
        age();
        // A group of its own, as a terminal gives it; the tests are in another one.
        final Outcome outcome = run(new ProcessBuilder(
                "/usr/bin/setsid", "--wait", shell, root.resolve("allocator").toString(), "providers"));
        assertThat(outcome.exitCode()).isEqualTo(130);
        assertThat(root.resolve("interrupted")).hasContent("interrupted");
        assertThat(root.resolve("modules/cli/target/distribution")).isDirectoryNotContaining("glob:**/start.aot*");
    }

    /** The check of the download tries damaged caches, and those of another JDK; here they meet the same options. */
    @Test
    void theLauncherOfTheDownloadHasTheSameOptionsForACache() throws Exception {
        final Path other = checkout().resolve("modules/release/download/src/allocator");
        assertThat(optionsForACache(SCRIPT))
                .hasSizeGreaterThan(2)
                .contains("-XX:+VerifySharedSpaces")
                .isEqualTo(optionsForACache(other));
    }

    private static List<String> optionsForACache(Path script) throws IOException {
        return Files.readAllLines(script).stream()
                .filter(line -> line.contains("-XX:AOTCache=") && line.endsWith("\"$@\""))
                .flatMap(line -> Arrays.stream(line.split("[ \"]+")))
                .filter(word -> word.startsWith("-X"))
                .map(word -> word.replaceAll("=\\$.*", ""))
                .toList();
    }

    @Test
    void whatEndsAtOnceRunsWithoutTheOptimizingCompiler() throws Exception {
        assertThat(run(root.resolve("allocator"), "--version").out()).contains("[-XX:TieredStopAtLevel=1]\n");
        assertThat(run(root.resolve("allocator"), "replay").out()).doesNotContain("TieredStopAtLevel");
    }

    @Test
    void withoutAJdkItSaysNoMoreThanTheSearchDoes() throws Exception {
        Files.writeString(root.resolve(".mvn/find-jdk.sh"), "echo 'JDK 25 not found' >&2; false\n");
        final Outcome outcome = run(root.resolve("allocator"));
        assertThat(outcome.exitCode()).isEqualTo(1);
        assertThat(outcome.err()).isEqualTo("JDK 25 not found\n");
    }
}
