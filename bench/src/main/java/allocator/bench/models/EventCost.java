package allocator.bench.models;

import ai.onnxruntime.OnnxTensor;
import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtSession;
import ai.onnxruntime.OrtSession.SessionOptions;
import allocator.bench.page.KeptPage;
import allocator.bench.pairs.Machine;
import allocator.onnxruntime.AllocatorSession;
import allocator.onnxruntime.OnnxRuntimeAllocators;
import allocator.onnxruntime.SessionSettings;
import allocator.runtime.Environment;
import allocator.runtime.ManagedAllocator;
import allocator.runtime.Session;
import java.io.InputStream;
import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.zip.GZIPInputStream;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/**
 * What events cost: a pair of an allocation and a free through a session, and a run of a model on ONNX Runtime, while
 * nothing records, while the latest events are remembered, and while the flight recorder records each. In each round
 * every kind is switched on in turn, for some milliseconds, and compared with none of the same round.
 */
@Command(
        name = "bench/run events",
        sortOptions = false,
        usageHelpAutoWidth = true,
        mixinStandardHelpOptions = true,
        exitCodeOnExecutionException = 2,
        description = "What events cost a session's allocations, and runs of a model on ONNX Runtime.")
public final class EventCost implements Callable<Integer> {
    /** What is measured. */
    enum Work {
        /** A pair of an allocation and a free through a session. */
        PAIRS,
        /** A run of a model. */
        MODEL
    }

    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    private static final long BATCH_NANOS = 10_000_000;
    private static final int LIVE_BLOCKS = 64;
    private static final int WARMUP_RUNS = 20;
    private static final long MOST_WARMUP_NANOS = 1_000_000_000;

    @Option(names = "--work", paramLabel = "WORK", split = ",", description = "pairs, model (default: both).")
    private List<Work> work = List.of(Work.values());

    @Option(names = "--rounds", paramLabel = "N", description = "Rounds to measure (default: 300).")
    private int rounds = 300;

    @Option(
            names = "--sizes",
            paramLabel = "N",
            split = ",",
            description = "The free dimensions of the model's inputs (default: 16,128).")
    private List<Integer> sizes = List.of(16, 128);

    @Option(names = "--model", paramLabel = "FILE", description = "The model, .onnx or .onnx.gz (default: tiny_bert).")
    private Path model = Path.of("modules/integrations/onnxruntime/src/test/resources/models/tiny_bert.onnx.gz");

    @Mixin
    private final KeptPage kept = new KeptPage();

    private final StringBuilder report = new StringBuilder();
    private final PrintStream out;

    private EventCost(PrintStream out) {
        this.out = out;
    }

    /** Does some work so many times. */
    @FunctionalInterface
    private interface Batch {
        void run(int times) throws Exception;
    }

    /** Measures and returns the exit status. */
    static int execute(PrintStream out, String... args) {
        return new CommandLine(new EventCost(out))
                .setCaseInsensitiveEnumValuesAllowed(true)
                .execute(args);
    }

    /**
     * Measures and ends the JVM.
     *
     * @param args the options
     */
    public static void main(String[] args) {
        System.exit(execute(System.out, args));
    }

    @Override
    public Integer call() throws Exception {
        kept.requireName();
        if (rounds < 1) {
            throw kept.failure("--rounds takes a number above zero: " + rounds);
        }
        print("# What events cost\n");
        print("- machine: " + Machine.description());
        print("- JDK: " + Machine.jdk());
        print("- commit: " + kept.commit());
        print("- date: " + LocalDate.now(ZoneOffset.UTC));
        print("- load average: " + Machine.load() + " before\n");
        print("Processor time of the thread that works, medians of " + rounds + " rounds. Each kind of events is on"
                + " for " + BATCH_NANOS / 1_000_000 + " ms of a\nround, in turn, and compared with none of the same"
                + " round; the interval has the median with 95 % certainty.\n");
        if (work.contains(Work.PAIRS)) {
            pairs();
        }
        if (work.contains(Work.MODEL)) {
            models();
        }
        print("\nLoad average: " + Machine.load() + " after.");
        kept.write(report);
        return 0;
    }

    private void pairs() throws Exception {
        print("## A pair of an allocation and a free through a session\n");
        print(LIVE_BLOCKS + " live blocks of 256 B to 16 KiB of `cpu-reference`.\n");
        print("| events | ns a pair | more, ns | 95 % |");
        print("|---|---:|---:|---:|");
        try (Environment environment = Environment.builder().build();
                Session session = environment.openSession(allocator.runtime.SessionOptions.builder()
                        .provider("cpu-reference")
                        .build())) {
            final ManagedAllocator allocator = session.allocator();
            final long[] blocks = new long[LIVE_BLOCKS];
            final Map<RecordedEvents, Sample> samples = measure(times -> {
                for (int i = 0; i < times; i++) {
                    final int slot = i % LIVE_BLOCKS;
                    allocator.free(blocks[slot]);
                    blocks[slot] = allocator.alloc(256L << (i % 7));
                }
            });
            for (final long block : blocks) {
                allocator.free(block);
            }
            final Sample none = Objects.requireNonNull(samples.get(RecordedEvents.NONE));
            samples.forEach((events, sample) -> {
                final Sample more = sample.minus(none);
                print(String.format(
                        Locale.ROOT,
                        "| %s | %.1f | %.1f | %s |",
                        events.text(),
                        sample.median(),
                        more.median(),
                        more.interval("%.1f")));
            });
        }
        print("");
    }

    private void models() throws Exception {
        print("## A run of " + model.getFileName() + " on ONNX Runtime's CPU provider, in memory of `cpu-reference`\n");
        print("| size | events | µs a run | of none | 95 % | allocations a run |");
        print("|---:|---|---:|---:|---:|---:|");
        final Path unpacked = Files.createTempFile("model", ".onnx");
        try (InputStream file = Files.newInputStream(model);
                InputStream in = model.toString().endsWith(".gz") ? new GZIPInputStream(file) : file) {
            Files.copy(in, unpacked, StandardCopyOption.REPLACE_EXISTING);
            final OrtEnvironment environment = OrtEnvironment.getEnvironment();
            try (OnnxRuntimeAllocators memory = OnnxRuntimeAllocators.on(environment)
                            .provider("cpu-reference")
                            .install();
                    SessionOptions options = new SessionOptions();
                    SessionOptions plain = new SessionOptions()) {
                memory.warmUp();
                options.setIntraOpNumThreads(1);
                try (AllocatorSession session = memory.openSession(unpacked, options, SessionSettings.DEFAULT);
                        OrtSession inputsOf = environment.createSession(unpacked.toString(), plain)) {
                    for (final int size : sizes) {
                        model(session, ModelInputs.of(inputsOf, 1, size), size);
                    }
                }
            }
        } finally {
            Files.delete(unpacked);
        }
    }

    private void model(AllocatorSession session, Map<String, OnnxTensor> inputs, int size) throws Exception {
        final long allocations;
        final Map<RecordedEvents, Sample> samples;
        try {
            run(session, inputs, WARMUP_RUNS);
            final long before = session.stats().numAllocs();
            run(session, inputs, 1);
            allocations = session.stats().numAllocs() - before;
            samples = measure(times -> run(session, inputs, times));
        } finally {
            inputs.values().forEach(OnnxTensor::close);
        }
        final Sample none = Objects.requireNonNull(samples.get(RecordedEvents.NONE));
        samples.forEach((events, sample) -> {
            final Sample ratio = sample.over(none);
            print(String.format(
                    Locale.ROOT,
                    "| %d | %s | %.1f | %.4f | %s | %d |",
                    size,
                    events.text(),
                    sample.median() / 1e3,
                    ratio.median(),
                    ratio.interval("%.4f"),
                    allocations));
        });
    }

    private static void run(AllocatorSession session, Map<String, OnnxTensor> inputs, int times) throws OrtException {
        for (int i = 0; i < times; i++) {
            session.run(inputs).close();
        }
    }

    /** Measures a work with each kind of events, in nanoseconds of processor time each time. */
    private Map<RecordedEvents, Sample> measure(Batch batch) throws Exception {
        final Map<RecordedEvents, Sample> samples = new EnumMap<>(RecordedEvents.class);
        final List<RecordedEvents> kinds = new ArrayList<>(List.of(RecordedEvents.values()));
        try (EventSwitch events = new EventSwitch()) {
            warmUp(events, batch);
            final int times = calibrate(batch);
            for (int round = 0; round < rounds; round++) {
                for (int i = 0; i < kinds.size(); i++) {
                    final RecordedEvents kind = kinds.get(Math.floorMod(round + i, kinds.size()));
                    events.set(kind);
                    batch.run(Math.max(1, times / 10)); // the switch has passed
                    final long start = THREADS.getCurrentThreadCpuTime();
                    batch.run(times);
                    final double nanos = (double) (THREADS.getCurrentThreadCpuTime() - start) / times;
                    samples.computeIfAbsent(kind, _ -> new Sample()).add(nanos);
                }
            }
        }
        return samples;
    }

    /** Works with each kind of events, twice, and at last with none. */
    private void warmUp(EventSwitch events, Batch batch) throws Exception {
        final long nanos = Math.min(MOST_WARMUP_NANOS, rounds * BATCH_NANOS);
        for (int pass = 0; pass < 2; pass++) {
            for (final RecordedEvents kind : RecordedEvents.values()) {
                events.set(kind);
                final long start = System.nanoTime();
                while (System.nanoTime() - start < nanos) {
                    batch.run(10);
                }
            }
        }
        events.set(RecordedEvents.NONE);
    }

    /** Returns how many times take as long as a batch does. */
    private static int calibrate(Batch batch) throws Exception {
        int times = 1;
        while (times < 1 << 24) {
            final long start = System.nanoTime();
            batch.run(times);
            if (System.nanoTime() - start > BATCH_NANOS) {
                return times;
            }
            times *= 2;
        }
        return times;
    }

    private void print(String line) {
        out.println(line);
        report.append(line).append('\n');
    }
}
