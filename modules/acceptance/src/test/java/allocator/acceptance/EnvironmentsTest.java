package allocator.acceptance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.DynamicTest.dynamicTest;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** The day's work in the environments that programs are given: an uber jar, started once for each. */
class EnvironmentsTest {
    private static final String DENY = "--illegal-native-access=deny";

    /** Without the namespaces of the kernel nothing is mounted. */
    private static final List<String> UNSHARE = List.of("unshare", "-m");

    private final Shipped shipped = Shipped.get();

    private static List<String> day(String way, List<String> options) throws IOException {
        final List<String> all = new ArrayList<>(options);
        all.addAll(List.of(DENY, "-jar", Archives.uberJar(Shipped.get()).toString(), way));
        return Started.javaCommand(all);
    }

    /** Returns the tests of a day behind a command that makes the environment. */
    private static Stream<DynamicTest> behind(List<String> environment, String way, String... arguments)
            throws Exception {
        final List<String> command = new ArrayList<>(environment);
        command.addAll(day(way, List.of()));
        command.addAll(List.of(arguments));
        return Cells.ofDay(way, Started.run(command));
    }

    /** Returns the tests of a day after shell commands in a mount namespace of its own. */
    private static Stream<DynamicTest> mounted(String commands, String way, String... arguments) throws Exception {
        final List<String> shell = shell(commands);
        final List<String> trial = new ArrayList<>(shell);
        trial.add("true");
        return Skips.isPossible(trial)
                ? behind(shell, way, arguments)
                : Stream.of(
                        dynamicTest(way, () -> Skips.skip("this machine does not allow: " + String.join(" ", shell))));
    }

    private static List<String> shell(String commands) {
        final List<String> shell = new ArrayList<>(UNSHARE);
        shell.addAll(List.of("sh", "-e", "-c", commands + " && exec \"$@\"", "sh"));
        return shell;
    }

    /** The other ways of these tests have the serial collector. */
    @TestFactory
    Stream<DynamicTest> theDefaultCollector() throws Exception {
        return days("G1");
    }

    @TestFactory
    @Tag("thorough")
    Stream<DynamicTest> theOtherCollectors() throws Exception {
        return days("Parallel", "Z", "Shenandoah");
    }

    private static Stream<DynamicTest> days(String... collectors) throws Exception {
        final List<DynamicTest> tests = new ArrayList<>();
        for (final String collector : collectors) {
            final String option = "-XX:+Use" + collector + "GC";
            final String way = collector + " collector";
            if (Skips.isPossible(List.of(Started.JAVA, option, "-version"))) {
                Cells.ofDay(way, Started.run(day(way, List.of(option)))).forEach(tests::add);
            } else {
                tests.add(dynamicTest(way, () -> Skips.skip("this JDK has no " + way)));
            }
        }
        return tests.stream();
    }

    @TestFactory
    Stream<DynamicTest> aHeapOf64MiB() throws Exception {
        return Cells.ofDay("-Xmx64m", Started.run(day("-Xmx64m", List.of("-Xmx64m"))));
    }

    @TestFactory
    Stream<DynamicTest> noLocale() throws Exception {
        return behind(List.of("env", "-i"), "no LANG");
    }

    /** Java itself cannot name such a file then. */
    @Tag("thorough")
    @Test
    void aPlanWhoseNameTheLocaleDoesNotAllowNamesTheRemedy() throws Exception {
        final String shell = "exec \"$@\" \"plan=$(printf '/donn\\303\\251es.csv')\"";
        final List<String> command = new ArrayList<>(List.of("env", "-i", "sh", "-c", shell, "sh"));
        command.addAll(day("no LANG", List.of()));
        assertThat(Started.run(command).output()).contains("LC_ALL=C.UTF-8 changes that");
    }

    /** No folder can be written to, that of temporary files and the user's own included. */
    @TestFactory
    Stream<DynamicTest> aReadOnlyRoot() throws Exception {
        final Path plan = Files.writeString(
                shipped.folder.resolve("plan.csv"), "id,lower,upper,size,offset\na,0,2,100000,0\nb,1,3,10000,131072\n");
        return mounted(
                "mount -o remount,bind,ro / && export HOME=/nonexistent",
                "read-only root without a home",
                "plan=" + plan);
    }

    @TestFactory
    Stream<DynamicTest> temporaryFilesThatCannotBeExecuted() throws Exception {
        return mounted("mount -t tmpfs -o noexec none /tmp", "noexec /tmp");
    }

    @TestFactory
    Stream<DynamicTest> anotherUser() throws Exception {
        final List<String> nobody = List.of("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups");
        final List<String> trial = new ArrayList<>(nobody);
        trial.addAll(List.of(Started.JAVA, "-version"));
        final String way = "another user";
        return Skips.isPossible(trial)
                ? behind(nobody, way)
                : Stream.of(dynamicTest(way, () -> Skips.skip("no process can be started as another user")));
    }

    /** A container of 512 MiB on a host of 1.5 TiB, which /proc/meminfo shows to it. */
    @TestFactory
    Stream<DynamicTest> aContainer() throws Exception {
        final Path meminfo = Files.writeString(shipped.folder.resolve("meminfo"), """
                MemTotal:       1610612736 kB
                MemFree:        1600000000 kB
                MemAvailable:   1600000000 kB
                Buffers:               0 kB
                Cached:           100000 kB
                SwapTotal:             0 kB
                SwapFree:              0 kB
                """);
        final Path limit = Files.writeString(shipped.folder.resolve("limit"), "536870912\n");
        final String mounts = """
                mount --bind %s /proc/meminfo
                own=$(sed -n 's/^[0-9]*:memory:\\(.*\\)/\\1/p' /proc/self/cgroup)
                root=$(sed -n 's/^0::\\(.*\\)/\\1/p' /proc/self/cgroup)
                for file in /sys/fs/cgroup/memory$own/memory.limit_in_bytes /sys/fs/cgroup/memory/memory.limit_in_bytes \\
                  /sys/fs/cgroup$root/memory.max; do
                  [ ! -e $file ] || mount --bind %s $file
                done
                true""".formatted(meminfo, limit);
        final String way = "container of 512 MiB on a host of 1.5 TiB";
        final Stream<DynamicTest> day = mounted(mounts, way);
        final List<String> many = shell(mounts);
        many.addAll(many(50, "compact"));
        if (!Skips.isPossible(
                Stream.concat(shell(mounts).stream(), Stream.of("true")).toList())) {
            return day;
        }
        return Stream.concat(
                day, Cells.of("many", Started.run(many), List.of("50 sessions compact: are open at once")));
    }

    /** Returns the command that opens many small sessions. */
    private List<String> many(int sessions, String policy, String... options) throws IOException {
        final Path program = shipped.jar("many", Shipped.PROGRAMS.resolve("many"), Shipped.path(shipped.jars));
        final List<String> all = new ArrayList<>(List.of(options));
        all.addAll(List.of(
                "--enable-native-access=ALL-UNNAMED",
                "-cp",
                Shipped.path(
                        Stream.concat(Stream.of(program), shipped.jars.stream()).toList()),
                "com.example.many.Many",
                policy,
                Integer.toString(sessions)));
        return Started.javaCommand(all);
    }

    @TestFactory
    Stream<DynamicTest> aThousandSessions() throws Exception {
        return Cells.of(
                "many",
                Started.run(many(1000, "compact", "-Xmx512m")),
                List.of("1000 sessions compact: are open at once"));
    }

    /** As some batch systems set it. */
    @Test
    void aLimitOfAddresses() throws Exception {
        requireOpen("compact");
    }

    @Test
    @Tag("thorough")
    void aLimitOfAddressesOnBestFit() throws Exception {
        requireOpen("best-fit");
    }

    private void requireOpen(String policy) throws Exception {
        final List<String> command = new ArrayList<>(List.of("sh", "-c", "ulimit -v 4194304 && exec \"$@\"", "sh"));
        command.addAll(many(4, policy, "-Xmx64m"));
        assertThat(Started.run(command).output()).contains("|4 sessions " + policy + ": are open at once|ok");
    }

    /** What cannot work says which option of Java makes it work. */
    @TestFactory
    Stream<DynamicTest> nativeAccessDenied() throws Exception {
        final String main = "com.example.day.Day";
        final Started classPath = Started.java(List.of(DENY, "-cp", Shipped.path(shipped.all()), main, "class path"));
        final Started modulePath = Started.java(List.of(
                DENY,
                "-p",
                Shipped.path(shipped.all()),
                "--add-modules=java.allocator.cuda.simulated",
                "-m",
                "com.example.day/" + main,
                "module path"));
        final List<Path> runtime = new ArrayList<>(shipped.runtime());
        runtime.add(shipped.day);
        final Started directory = Started.java(List.of(
                DENY,
                "-p",
                Shipped.path(runtime),
                "-m",
                "com.example.day/" + main,
                "providersFrom",
                "providers=" + shipped.folder("dropped-denied", shipped.providers()),
                "simulated=no"));
        final List<Path> bridge = new ArrayList<>(shipped.withBridge());
        bridge.add(
                shipped.jar("bridge-denied", Shipped.PROGRAMS.resolve("bridge"), Shipped.path(shipped.withBridge())));
        final Started onnxRuntime =
                Started.java(List.of(DENY, "-cp", Shipped.path(bridge), "com.example.bridge.Bridge", "ONNX Runtime"));
        return Stream.of(
                named("class path", classPath, "ALL-UNNAMED", "cpu-reference best-fit"),
                named("class path", classPath, "ALL-UNNAMED", "cpu-reference compact"),
                named("class path", classPath, "ALL-UNNAMED", "cpu-reference bump"),
                named("class path", classPath, "ALL-UNNAMED", "cuda-arena without a GPU"),
                named("class path", classPath, "ALL-UNNAMED", "cuda-mempool without a GPU"),
                named("module path", modulePath, "java.allocator.cpu.reference", "cpu-reference best-fit"),
                named("module path", modulePath, "java.allocator.cpu.reference", "cpu-reference compact"),
                named("module path", modulePath, "java.allocator.cuda.driver", "cuda-arena without a GPU"),
                named("providersFrom", directory, "java.allocator.runtime", "cpu-reference best-fit"),
                named("providersFrom", directory, "java.allocator.runtime", "cuda-arena without a GPU"),
                named("ONNX Runtime", onnxRuntime, "ALL-UNNAMED", "ONNX Runtime on cpu-reference"));
    }

    private static DynamicTest named(String way, Started started, String module, String cell) {
        return dynamicTest(
                "native access denied, " + way + " × " + cell + " names the option",
                () -> assertThat(started.output()
                                .lines()
                                .filter(line -> line.startsWith("cell|" + way + "|" + cell + "|")))
                        .as(started.output())
                        .singleElement()
                        .asString()
                        .contains("|FAILED|")
                        .containsPattern("--enable-native-access=\\S*" + module));
    }
}
