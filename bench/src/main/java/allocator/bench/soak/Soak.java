package allocator.bench.soak;

import allocator.bench.report.Machine;
import allocator.bench.subject.Slots;
import allocator.bench.subject.Subject;
import allocator.bench.subject.SubjectType;
import java.io.IOException;
import java.io.PrintStream;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.SplittableRandom;
import java.util.concurrent.Callable;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/**
 * Opens subjects in turn, lets threads that come and go allocate, write and free, closes them, and goes on so for
 * minutes. Now and then, when all is freed and closed, it takes a sample of what the process has of memory.
 */
@Command(
        name = "bench/run soak",
        sortOptions = false,
        usageHelpAutoWidth = true,
        mixinStandardHelpOptions = true,
        exitCodeOnExecutionException = 2,
        description = {
            "Works for minutes and reports whether memory stays as it is: resident, on the Java heap.",
            "Exit status: 0 if they do, 1 if not, 2 for an error."
        })
public final class Soak implements Callable<Integer> {
    /** Of everything that works here, which says the same each time it is opened. */
    private static final Logger LOGGER = Logger.getLogger("allocator");

    private static final int SAMPLES = 60;
    private static final int WAVES = 8;
    private static final int THREADS = 4;
    private static final int SLOTS = 500;
    private static final int OPERATIONS = 5_000;
    private static final int LEAST_EXPONENT = 4;
    private static final int MOST_EXPONENT = 19;
    private static final int TOUCHED_IN = 8;

    @Spec
    private @Nullable CommandSpec spec;

    @Option(names = "--minutes", paramLabel = "N", description = "How long (default: ${DEFAULT-VALUE}).")
    private double minutes = 10;

    @Option(names = "--subjects", split = ",", paramLabel = "NAME", description = "What works (default: all of ours).")
    private List<String> subjectNames =
            SubjectType.OWN.stream().map(SubjectType::toString).toList();

    private final Map<Source, List<Long>> samples = new EnumMap<>(Source.class);
    private final PrintStream out;
    private long lives;

    private Soak(PrintStream out) {
        this.out = out;
        for (final Source source : Source.values()) {
            samples.put(source, new ArrayList<>());
        }
    }

    /** Works and returns the exit status. */
    static int execute(PrintStream out, String... args) {
        return new CommandLine(new Soak(out)).execute(args);
    }

    /**
     * Works and ends the JVM.
     *
     * @param args the options
     */
    public static void main(String[] args) {
        LOGGER.setLevel(Level.SEVERE);
        System.exit(execute(System.out, args));
    }

    @Override
    public Integer call() throws IOException, InterruptedException {
        if (!(minutes > 0)) {
            throw wrong("--minutes takes a number above 0, not " + minutes);
        }
        final List<SubjectType> subjects = subjects();
        out.println(Machine.description());
        out.printf("%8s %7s", "seconds", "lives");
        samples.keySet().forEach(source -> out.printf(" %17s", source + " KiB"));
        out.println();
        final long begin = System.nanoTime();
        final long interval = (long) (minutes * Duration.ofMinutes(1).toNanos() / SAMPLES);
        for (int sample = 1; sample <= SAMPLES; sample++) {
            while (System.nanoTime() - begin < sample * interval) {
                for (final SubjectType type : subjects) {
                    live(type);
                }
            }
            sample((System.nanoTime() - begin) / 1_000_000_000);
        }
        samples.forEach((source, values) -> out.println(source.verdict(values)));
        return samples.entrySet().stream().anyMatch(entry -> entry.getKey().isLeak(entry.getValue())) ? 1 : 0;
    }

    private List<SubjectType> subjects() {
        try {
            return SubjectType.parse(subjectNames);
        } catch (IllegalArgumentException e) {
            throw wrong(String.valueOf(e.getMessage()));
        }
    }

    private ParameterException wrong(String message) {
        return new ParameterException(Objects.requireNonNull(spec).commandLine(), message);
    }

    /** Opens a subject, uses it with waves of short threads, and closes it. */
    private void live(SubjectType type) throws InterruptedException {
        final long life = lives++;
        try (Subject subject = type.open()) {
            for (int wave = 0; wave < WAVES; wave++) {
                final List<Thread> threads = new ArrayList<>();
                for (int i = 0; i < THREADS; i++) {
                    final SplittableRandom random = new SplittableRandom((life * WAVES + wave) * THREADS + i);
                    threads.add(subject.thread(() -> work(subject.slots(SLOTS), random)));
                }
                threads.forEach(Thread::start);
                for (final Thread thread : threads) {
                    thread.join();
                }
            }
        }
    }

    private static void work(Slots slots, SplittableRandom random) {
        final boolean[] isLive = new boolean[SLOTS];
        for (int i = 0; i < OPERATIONS; i++) {
            final int slot = random.nextInt(SLOTS);
            if (isLive[slot]) {
                slots.free(slot);
            } else {
                final int byteSize = 1 + random.nextInt(1 << random.nextInt(LEAST_EXPONENT, MOST_EXPONENT));
                slots.alloc(slot, byteSize);
                if (random.nextInt(TOUCHED_IN) == 0) {
                    slots.touch(slot, byteSize);
                }
            }
            isLive[slot] = !isLive[slot];
        }
        for (int slot = 0; slot < SLOTS; slot++) {
            if (isLive[slot]) {
                slots.free(slot);
            }
        }
    }

    private void sample(long seconds) throws IOException {
        System.gc();
        out.printf("%8d %7d", seconds, lives);
        for (final Map.Entry<Source, List<Long>> entry : samples.entrySet()) {
            entry.getValue().add(entry.getKey().kibibytes());
            out.printf(" %17d", entry.getValue().getLast());
        }
        out.println();
    }
}
