package allocator.spark;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaSparkContext;

/** Contexts of Spark for tests: in this process, or with executors in processes of their own. */
final class SparkCluster {
    private static final String NATIVE_ACCESS = "--enable-native-access=ALL-UNNAMED";

    /** Makes the command line as long as many are; ONNX Runtime puts it through a regular expression. */
    private static final String LONG = " -Dlong.command.line=" + "x".repeat(8000);

    private SparkCluster() {}

    /** Starts a context whose executors are processes of this machine. They find classes as this process does. */
    static JavaSparkContext ofProcesses(int executors, Map<String, String> settings) throws IOException {
        final Path home = Path.of(Objects.requireNonNull(System.getenv("SPARK_HOME"), "SPARK_HOME"));
        final SparkConf conf = conf(settings)
                .setMaster("local-cluster[" + executors + ",1,1024]")
                .set("spark.executor.memory", "512m")
                .set(
                        "spark.executor.extraJavaOptions",
                        NATIVE_ACCESS + " --illegal-native-access=deny" + " -XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
                                + LONG)
                .set("spark.executor.extraClassPath", String.join(File.pathSeparator, makeHome(home)))
                .set("spark.executorEnv.JAVA_HOME", System.getProperty("java.home"))
                .set("spark.worker.cleanup.enabled", "true");
        settings.forEach(conf::set);
        return new JavaSparkContext(conf);
    }

    /** Starts a context whose driver runs the tasks. */
    static JavaSparkContext inThisProcess(Map<String, String> settings) {
        return new JavaSparkContext(conf(settings).setMaster("local[2]"));
    }

    private static SparkConf conf(Map<String, String> settings) {
        final SparkConf conf = new SparkConf(false)
                .setAppName("allocator")
                .set("spark.ui.enabled", "false")
                .set("spark.driver.host", "127.0.0.1")
                .set("spark.driver.bindAddress", "127.0.0.1");
        settings.forEach(conf::set);
        return conf;
    }

    /**
     * Makes a folder such as an installation of Spark has, with links to the jars on the class path.
     *
     * @return the folders on the class path, which are ours
     */
    private static List<String> makeHome(Path home) throws IOException {
        final List<String> folders = new ArrayList<>();
        final Path jars = Files.createDirectories(home.resolve("jars"));
        Files.writeString(home.resolve("RELEASE"), "of the build\n");
        for (final String entry : System.getProperty("java.class.path").split(File.pathSeparator, -1)) {
            final Path file = Path.of(entry);
            final Path link = jars.resolve(file.getFileName());
            if (!Files.isRegularFile(file)) {
                folders.add(entry);
            } else if (!Files.exists(link)) {
                Files.createSymbolicLink(link, file);
            }
        }
        return folders;
    }
}
