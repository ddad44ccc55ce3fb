package allocator.acceptance;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/** Each way in times each provider: a small day's work, one JVM for each way in. */
class WaysInTest {
    private static final String CLASS_PATH_FLAG = "--enable-native-access=ALL-UNNAMED";
    private static final String MODULE_PATH_FLAG = "--enable-native-access=java.allocator.cpu.reference,jcuda,"
            + "java.allocator.cuda.driver,java.allocator.cuda.simulated,com.example.buddy";
    private static final String DENY = "--illegal-native-access=deny";
    private static final String MAIN = "com.example.day.Day";
    private static final String MODULE = "com.example.day/" + MAIN;

    private final Shipped shipped = Shipped.get();

    @TestFactory
    Stream<DynamicTest> modulePath() throws Exception {
        return Cells.ofDay(
                "module path",
                Started.java(List.of(
                        DENY,
                        MODULE_PATH_FLAG,
                        "-p",
                        Shipped.path(shipped.all()),
                        "--add-modules=java.allocator.cuda.simulated",
                        "-m",
                        MODULE,
                        "module path")));
    }

    @TestFactory
    Stream<DynamicTest> classPath() throws Exception {
        return Cells.ofDay(
                "class path",
                Started.java(List.of(
                        DENY,
                        CLASS_PATH_FLAG,
                        "-cp",
                        Shipped.path(shipped.all()),
                        MAIN,
                        "class path",
                        "messages=yes")));
    }

    /** The application has the runtime alone; all of CUDA comes with the providers. */
    @TestFactory
    Stream<DynamicTest> providersFromADirectory() throws Exception {
        final Path dropped = shipped.folder("dropped", shipped.providers());
        return Cells.ofDayOfHost(
                "providersFrom",
                Started.java(List.of(
                        DENY,
                        "--enable-native-access=java.allocator.runtime",
                        "-p",
                        Shipped.path(with(shipped.runtime(), shipped.day)),
                        "-m",
                        MODULE,
                        "providersFrom",
                        "providers=" + dropped,
                        "simulated=no")));
    }

    /** The application registers the directory at an environment that lives, and unregisters all of it. */
    @TestFactory
    Stream<DynamicTest> aDirectoryRegisteredAtALiveEnvironment() throws Exception {
        final Path registered = shipped.folder("registered", shipped.providers());
        return Cells.of(
                "registerFrom",
                Started.java(List.of(
                        DENY,
                        "--enable-native-access=java.allocator.runtime",
                        "-p",
                        Shipped.path(with(shipped.runtime(), shipped.day)),
                        "-m",
                        MODULE,
                        "registerFrom",
                        "registered=" + registered,
                        "simulated=no")),
                Stream.concat(Cells.HOST.stream(), Stream.of("the directory is unloaded"))
                        .toList());
    }

    /** The application uses CUDA itself, and the directory has copies of the same modules. */
    @TestFactory
    Stream<DynamicTest> providersFromADirectoryBesideCuda() throws Exception {
        final Path dropped = shipped.folder("dropped-beside-cuda", shipped.providers());
        final List<Path> own = with(shipped.runtime(), shipped.day);
        own.addAll(shipped.device());
        return Cells.ofDay(
                "providersFrom beside CUDA",
                Started.java(List.of(
                        DENY,
                        "--enable-native-access=java.allocator.runtime,jcuda,java.allocator.cuda.driver,"
                                + "java.allocator.cuda.simulated",
                        "-p",
                        Shipped.path(own),
                        "--add-modules=java.allocator.cuda.simulated",
                        "-m",
                        MODULE,
                        "providersFrom beside CUDA",
                        "providers=" + dropped)));
    }

    @TestFactory
    Stream<DynamicTest> jlinkImage() throws Exception {
        final List<String> command = new ArrayList<>(
                List.of(Download.of(shipped).java(), DENY, MODULE_PATH_FLAG, "-XX:TieredStopAtLevel=1"));
        command.addAll(List.of("-m", MODULE, "jlink image"));
        return Cells.ofDay("jlink image", Started.run(command));
    }

    @TestFactory
    Stream<DynamicTest> uberJar() throws Exception {
        return Cells.ofDay(
                "uber jar",
                Started.java(List.of(DENY, "-jar", Archives.uberJar(shipped).toString(), "uber jar")));
    }

    @TestFactory
    Stream<DynamicTest> springBootJar() throws Exception {
        return Cells.ofDay(
                "Spring Boot jar",
                Started.java(
                        List.of(DENY, "-jar", Archives.springBootJar(shipped).toString(), "Spring Boot jar")));
    }

    /** A class loader that is closed and made again, a pool's thread, and a runtime in a parent loader. */
    @TestFactory
    Stream<DynamicTest> classLoaders() throws Exception {
        final Path loaders = shipped.jar("loaders", Shipped.PROGRAMS.resolve("loaders"), "");
        final List<Path> bridge = with(
                shipped.bridge(),
                shipped.jar("bridge", Shipped.PROGRAMS.resolve("bridge"), Shipped.path(shipped.withBridge())));
        final Started started = Started.java(List.of(
                DENY,
                CLASS_PATH_FLAG,
                // The JDK refers softly to records.
                "-XX:SoftRefLRUPolicyMSPerMB=0",
                "-cp",
                loaders.toString(),
                "com.example.loaders.Loaders",
                Shipped.path(shipped.runtime()),
                Shipped.path(with(shipped.providers(), shipped.day)),
                Shipped.path(bridge)));
        return Stream.of(
                        "class loader 1 of 3",
                        "class loader 2 of 3",
                        "class loader 3 of 3",
                        "pool thread of another class loader",
                        "runtime in a parent loader")
                .flatMap(way -> Cells.ofDay(way, started));
    }

    private static List<Path> with(List<Path> jars, Path one) {
        final List<Path> all = new ArrayList<>(jars);
        all.add(one);
        return all;
    }
}
