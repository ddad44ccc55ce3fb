package allocator.bench.spark;

import allocator.bench.report.KeptPage;
import java.io.IOException;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/**
 * Measures stages of Spark with the plug-in and without, each in an application of its own, in turn. The application is
 * a program of the tests of the module for Spark, so that benchmarks do not depend on Spark.
 */
@Command(
        name = "bench/run spark",
        sortOptions = false,
        usageHelpAutoWidth = true,
        mixinStandardHelpOptions = true,
        exitCodeOnExecutionException = 2,
        description = "Measures stages of Spark on two executors, with the plug-in and without.")
public final class StageRun implements Callable<Integer> {
    private static final String PROGRAM = "allocator.spark.StageProgram";
    private static final int LONGEST_MINUTES = 5;

    @Option(names = "--rounds", paramLabel = "N", description = "How often each is measured (default: 7).")
    private int rounds = 7;

    @Option(names = "--rows", paramLabel = "N", description = "Rows of a stage of inference (default: 20000).")
    private int rows = 20_000;

    @Option(names = "--stages", paramLabel = "N", description = "Measured stages of an application (default: 5).")
    private int stages = 5;

    @Mixin
    private final KeptPage kept = new KeptPage();

    @Option(names = "--spark", hidden = true, description = "The version of Spark.")
    private String spark = "unknown";

    @Option(names = "--module", hidden = true, required = true, description = "The folder of the module for Spark.")
    private Path module = Path.of("");

    @Option(names = "--class-path", hidden = true, required = true, description = "The application's class path.")
    private String classPath = "";

    @Option(names = "--jvm", hidden = true, split = " ", description = "Options of the driver's JVM.")
    private List<String> jvmOptions = List.of();

    @Option(names = "--model", hidden = true, required = true, description = "The packed model.")
    private Path model = Path.of("");

    private final PrintStream out;

    private StageRun(PrintStream out) {
        this.out = out;
    }

    /** Measures and returns the exit status. */
    static int execute(PrintStream out, PrintStream errors, String... args) {
        return new CommandLine(new StageRun(out))
                .setErr(new PrintWriter(errors, true, StandardCharsets.UTF_8))
                .execute(args);
    }

    public static void main(String[] args) {
        System.exit(execute(System.out, System.err, args));
    }

    @Override
    public Integer call() throws IOException, InterruptedException {
        if (rounds < 1 || rows < 1 || stages < 1) {
            throw kept.failure("--rounds, --rows and --stages take numbers from 1");
        }
        kept.requireName();
        final StageTable table = new StageTable();
        for (int round = 0; round < rounds; round++) {
            final List<String> order = round % 2 == 0 ? List.of("plain", "plugin") : List.of("plugin", "plain");
            for (final String variant : order) {
                table.add(variant, measure(variant));
            }
        }
        final String page = """
                # A stage of Apache Spark with the plug-in and without

                %s- Spark: %s, two executors of one core each, in processes of their own
                - rounds: %d, each an application with and one without, in turn; %d stages each, after two that are not counted

                A stage of inference runs tiny_bert over %,d rows of 16 words in batches of 16: without the plug-in in a session with ONNX
                Runtime's own memory, shared by the tasks of an executor; with it by `Inference`. A stage of tasks has 400 that do next to
                nothing. Medians (lowest–highest) of the rounds; processor time is that of the tasks' threads.

                %s""".formatted(kept.head(), spark, rounds, stages, rows, table.toMarkdown());
        out.print(page);
        kept.write(page);
        return 0;
    }

    private List<String> measure(String variant) throws IOException, InterruptedException {
        final List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(jvmOptions);
        command.addAll(List.of("-cp", classPath, PROGRAM, variant, model.toString()));
        command.addAll(List.of(String.valueOf(rows), String.valueOf(stages)));
        final ProcessBuilder builder = new ProcessBuilder(command);
        builder.environment()
                .putAll(java.util.Map.of(
                        "SPARK_HOME",
                        module.resolve("target/spark-home").toAbsolutePath().toString(),
                        "SPARK_SCALA_VERSION",
                        "2.13",
                        "SPARK_LOCAL_IP",
                        "127.0.0.1"));
        return MeasuringProcess.run(builder, variant, LONGEST_MINUTES);
    }
}
