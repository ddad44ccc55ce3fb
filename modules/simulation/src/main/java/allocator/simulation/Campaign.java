package allocator.simulation;

import allocator.simulation.Simulation.Failed;
import allocator.simulation.Simulation.Outcome;
import java.io.PrintWriter;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.logging.Level;
import java.util.logging.Logger;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Programs from a range of seeds, until one fails or the range or the time ends. */
@Command(
        name = "simulate",
        mixinStandardHelpOptions = true,
        description = "Runs simulated programs on the real classes; prints the smallest one that fails.")
public final class Campaign implements Callable<Integer> {
    /** The loggers of the product, which report every simulated failure. */
    private static final Logger LOGS = Logger.getLogger("allocator");

    @Spec
    private CommandSpec spec;

    @Option(names = "--from", paramLabel = "SEED", description = "The first seed. Default: ${DEFAULT-VALUE}.")
    private long from;

    @Option(
            names = "--programs",
            paramLabel = "COUNT",
            description = "How many seeds. Default: 1000, or no limit with --minutes.")
    private Long programs;

    @Option(names = "--minutes", description = "How long at most.")
    private Long minutes;

    @Option(
            names = "--worlds",
            split = ",",
            paramLabel = "WORLD",
            description = {
                "The systems, in any case. Default: all.",
                "arena, bump: an arena, or a bump allocator, on a device",
                "pages: an arena on pages, with streams that lag",
                "shared_bump: a bump arena for several threads",
                "provider: the host provider and its sessions",
                "pool: pools and raw memory of the CUDA providers",
                "resource: decorators with budgets",
                "runtime: an environment and its sessions",
                "lifetime: sessions and registered allocators that end while they are used"
            })
    private List<WorldType> worlds = List.of(WorldType.values());

    @Option(names = "--twice", description = "Runs each program twice, and fails if the second run is another one.")
    private boolean isTwice;

    private Campaign() {}

    /** Runs programs and prints the outcome; returns 0 if all passed, 1 if one failed, 2 for invalid options. */
    public static int run(String... arguments) {
        return new CommandLine(new Campaign())
                .setCaseInsensitiveEnumValuesAllowed(true)
                .execute(arguments);
    }

    @Override
    public Integer call() {
        LOGS.setLevel(Level.OFF);
        final PrintWriter out = spec.commandLine().getOut();
        final long count = programs != null ? programs : minutes != null ? Long.MAX_VALUE - from : 1000;
        final Instant end = Instant.now().plus(minutes == null ? Duration.ofDays(365) : Duration.ofMinutes(minutes));
        long seed = from;
        while (seed < from + count && Instant.now().isBefore(end)) {
            final Program program = Program.of(seed, worlds);
            final Outcome outcome = Simulation.run(program);
            if (isTwice && Simulation.run(program).fingerprint() != outcome.fingerprint()) {
                out.println("seed " + seed + " has another schedule when it runs again");
                out.println(program);
                return 1;
            }
            if (outcome.failed().isPresent()) {
                report(outcome.failed().get(), out);
                return 1;
            }
            seed++;
        }
        out.println("seeds " + from + " to " + (seed - 1) + ": all passed");
        return 0;
    }

    private static void report(Failed failed, PrintWriter out) {
        out.println("seed " + failed.program().seed() + " fails: " + failed.cause());
        out.println(failed.program());
        failed.cause().printStackTrace(out);
        out.flush(); // a smaller program may take long to find
        final Failed smallest = Simulation.shrink(failed);
        out.println("the smallest program found, with " + failed.world() + ":");
        out.println(smallest.program());
        smallest.cause().printStackTrace(out);
        out.flush();
    }
}
