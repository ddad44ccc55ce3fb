package allocator.bench.arrow;

import allocator.bench.page.KeptPage;
import allocator.bench.pairs.Machine;
import allocator.bench.pairs.Turns;
import java.io.IOException;
import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Measures buffers of Arrow through each manager in a JVM of its own, in turn, in several rounds. */
@Command(
        name = "bench/run arrow",
        sortOptions = false,
        usageHelpAutoWidth = true,
        mixinStandardHelpOptions = true,
        exitCodeOnExecutionException = 2,
        description = "Measures buffers of Arrow of 64 B to 64 MiB, and what is resident after a burst.")
public final class ArrowRun implements Callable<Integer> {
    private static final int LONGEST_MINUTES = 15;

    @Option(names = "--managers", split = ",", paramLabel = "NAME", description = "Which managers (default: all).")
    private List<String> names =
            Arrays.stream(Manager.values()).map(Manager::toString).toList();

    @Option(names = "--rounds", paramLabel = "N", description = "How often each is measured (default: 5).")
    private int rounds = 5;

    @Option(names = "--sample", hidden = true, paramLabel = "MILLISECONDS", description = "How long a sample takes.")
    private int sampleMillis = 100;

    @Mixin
    private final KeptPage kept = new KeptPage();

    private final PrintStream out;

    private ArrowRun(PrintStream out) {
        this.out = out;
    }

    /** Measures and returns the exit status. */
    static int execute(PrintStream out, PrintStream errors, String... args) {
        return new CommandLine(new ArrowRun(out))
                .setErr(new java.io.PrintWriter(errors, true, java.nio.charset.StandardCharsets.UTF_8))
                .execute(args);
    }

    /**
     * Measures and ends the JVM.
     *
     * @param args the options
     */
    public static void main(String[] args) {
        System.exit(execute(System.out, System.err, args));
    }

    @Override
    public Integer call() throws IOException, InterruptedException {
        final List<Manager> managers = names.stream().map(this::parse).toList();
        if (rounds < 1 || sampleMillis < 1) {
            throw kept.failure("--rounds and --sample take numbers from 1");
        }
        kept.requireName();
        final String load = Machine.load();
        final ArrowTable table = new ArrowTable(managers);
        for (int round = 0; round < rounds; round++) {
            final Map<Manager, ProcessBuilder> programs = new EnumMap<>(Manager.class);
            managers.forEach(manager -> programs.put(manager, new ProcessBuilder(command(manager))));
            Turns.run(programs, LONGEST_MINUTES).forEach(table::add);
        }
        final String page = """
                # Buffers of Apache Arrow

                - machine: %s
                - JDK: %s
                - Arrow: %s
                - commit: %s
                - date: %s
                - load average: %s before, %s after
                - rounds: %d, each manager in a JVM of its own, in turn every tenth of a second

                %s""".formatted(
                        Machine.description(),
                        Machine.jdk(),
                        org.apache.arrow.memory.ArrowBuf.class.getPackage().getImplementationVersion(),
                        kept.commit(),
                        LocalDate.now(ZoneOffset.UTC),
                        load,
                        Machine.load(),
                        rounds,
                        table.toMarkdown());
        out.print(page);
        kept.write(page);
        return 0;
    }

    private Manager parse(String text) {
        try {
            return Manager.of(text);
        } catch (IllegalArgumentException e) {
            throw kept.failure(String.valueOf(e.getMessage()));
        }
    }

    private List<String> command(Manager manager) {
        final List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(ManagementFactory.getRuntimeMXBean().getInputArguments());
        // A heap that is resident from the beginning, so that only other memory grows.
        command.addAll(List.of(
                "-Xms512m", "-Xmx512m", "-XX:+AlwaysPreTouch", "-XX:+UseSerialGC", "-XX:MaxDirectMemorySize=16g"));
        command.addAll(manager.jvmOptions());
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), ArrowMeasurement.class.getName()));
        command.addAll(List.of(manager.toString(), String.valueOf(sampleMillis)));
        return command;
    }
}
