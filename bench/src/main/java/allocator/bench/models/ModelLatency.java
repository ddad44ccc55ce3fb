package allocator.bench.models;

import ai.onnxruntime.OnnxTensor;
import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtSession;
import ai.onnxruntime.OrtSession.SessionOptions;
import allocator.onnxruntime.AllocatorSession;
import allocator.onnxruntime.OnnxRuntimeAllocators;
import allocator.onnxruntime.OnnxRuntimeFactory;
import allocator.onnxruntime.SessionSettings;
import allocator.spi.Allocator;
import allocator.spi.AllocatorOptions;
import allocator.spi.EpFactory;
import allocator.spi.MemoryInfo;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.ServiceLoader;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/**
 * How long a real model runs with ONNX Runtime's arena and with ours. In each round every session runs for some ten
 * milliseconds, in an order that rotates, so that all see the same disturbances, and each is compared with the first of
 * that round. A run has one thread; with two threads, two run the model in one session side by side.
 *
 * <p>The figure to read is processor time, of the threads that run: on a machine that others use as well, the time that
 * passed says little. A second session of ONNX Runtime's own tells how far to trust the others' ratios.
 *
 * <p>Arguments: how many rounds, and models, each with the sizes of its inputs' free dimensions after the first, such
 * as {@code tiny_bert.onnx:16,128}.
 */
public final class ModelLatency {
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    private static final long BATCH_NANOS = 10_000_000;
    private static final int MAX_THREADS = 2;

    private final ExecutorService executor;
    private final int rounds;

    private ModelLatency(ExecutorService executor, int rounds) {
        this.executor = executor;
        this.rounds = rounds;
    }

    /** A session of some kind. */
    private interface Model {
        OrtSession.Result run(Map<String, OnnxTensor> inputs) throws OrtException;
    }

    /** What is compared, with its measurements. */
    private static final class Subject {
        private final String name;
        private final Model model;
        private Sample cpu = new Sample();
        private Sample elapsed = new Sample();

        Subject(String name, Model model) {
            this.name = name;
            this.model = model;
        }

        void clear() {
            cpu = new Sample();
            elapsed = new Sample();
        }
    }

    /** What a batch took, for one run of one thread: processor time of all, and time that passed. */
    private record Cost(double cpuNanos, double elapsedNanos) {}

    /**
     * Measures each model.
     *
     * @param args rounds, models with sizes
     * @throws Exception if a model cannot be run
     */
    public static void main(String[] args) throws Exception {
        System.out.println(
                "| model | size | threads | session | cpu µs/run | of ort | 95 % | µs/run | runs/s | allocs/run |");
        System.out.println("|---|---|---|---|---|---|---|---|---|---|");
        try (ExecutorService executor = Executors.newFixedThreadPool(MAX_THREADS)) {
            final ModelLatency latency = new ModelLatency(executor, Integer.parseInt(args[0]));
            for (final String argument : Arrays.asList(args).subList(1, args.length)) {
                final int colon = argument.lastIndexOf(':');
                final Path model = Path.of(argument.substring(0, colon));
                for (final String size : argument.substring(colon + 1).split(",", -1)) {
                    latency.measure(model, Integer.parseInt(size));
                }
            }
        }
    }

    private void measure(Path path, int size) throws Exception {
        final OrtEnvironment environment = OrtEnvironment.getEnvironment();
        try (EpFactory cpu = provider("cpu-reference");
                OnnxRuntimeFactory ort = new OnnxRuntimeFactory();
                OnnxRuntimeAllocators memory = OnnxRuntimeAllocators.on(environment)
                        .provider("cpu-reference")
                        .install();
                SessionOptions plain = new SessionOptions()) {
            memory.warmUp();
            plain.setIntraOpNumThreads(1);
            final Allocator frugal = create(cpu, Map.of("arena.exclusive", "1", "arena.extend_strategy", "1"));
            final Allocator theirArena = create(ort, Map.of("ort.check_frees", "0"));
            try (OrtSession theirs = environment.createSession(path.toString(), plain);
                    OrtSession again = environment.createSession(path.toString(), plain);
                    AllocatorSession ours = open(memory, path, memory.allocator());
                    AllocatorSession oursFrugal = open(memory, path, frugal);
                    AllocatorSession theirsBehind = open(memory, path, theirArena)) {
                final Map<String, OnnxTensor> inputs = ModelInputs.of(theirs, 1, size);
                final List<Subject> subjects = List.of(
                        new Subject("ort", theirs::run),
                        new Subject("ort, again", again::run),
                        new Subject("ours", ours::run),
                        new Subject("ours, regions as requested", oursFrugal::run),
                        new Subject("ort's arena through callbacks", theirsBehind::run));
                for (int threads = 1; threads <= MAX_THREADS; threads++) {
                    final long before = ours.stats().numAllocs();
                    final long runs = compare(subjects, inputs, threads);
                    print(path, size, threads, subjects, (ours.stats().numAllocs() - before) / runs);
                }
                inputs.values().forEach(OnnxTensor::close);
            }
            cpu.releaseAllocator(frugal);
            ort.releaseAllocator(theirArena);
        }
    }

    private static EpFactory provider(String name) {
        return ServiceLoader.load(EpFactory.class).stream()
                .map(ServiceLoader.Provider::get)
                .filter(provider -> provider.name().equals(name))
                .findFirst()
                .orElseThrow();
    }

    private static Allocator create(EpFactory factory, Map<String, String> options) {
        final MemoryInfo info =
                factory.discoverDevices().devices().getFirst().defaultMemory().orElseThrow();
        return factory.createAllocator(info, AllocatorOptions.of(options));
    }

    private static AllocatorSession open(OnnxRuntimeAllocators memory, Path path, Allocator allocator)
            throws OrtException {
        try (SessionOptions options = new SessionOptions()) {
            options.setIntraOpNumThreads(1);
            return memory.openSession(path, options, SessionSettings.DEFAULT.withDecorator(_ -> allocator));
        }
    }

    /** Fills the subjects' samples. Returns how often each ran the model. */
    private long compare(List<Subject> subjects, Map<String, OnnxTensor> inputs, int threads) throws Exception {
        final Subject first = subjects.getFirst();
        batch(first.model, inputs, threads, 20);
        final int batch = (int) Math.max(
                1, BATCH_NANOS / batch(first.model, inputs, threads, 20).cpuNanos());
        final int warmup = Math.max(10, rounds / 5);
        for (int round = -warmup; round < rounds; round++) {
            if (round == 0) {
                subjects.forEach(Subject::clear);
            }
            for (int i = 0; i < subjects.size(); i++) {
                final Subject subject = subjects.get(Math.floorMod(round + i, subjects.size()));
                final Cost cost = batch(subject.model, inputs, threads, batch);
                subject.cpu.add(cost.cpuNanos());
                subject.elapsed.add(cost.elapsedNanos());
            }
        }
        return (long) (warmup + rounds) * batch * threads;
    }

    private Cost batch(Model model, Map<String, OnnxTensor> inputs, int threads, int runs) throws Exception {
        final CyclicBarrier start = new CyclicBarrier(threads);
        final Callable<Cost> work = () -> {
            start.await();
            final long began = System.nanoTime();
            final long cpu = THREADS.getCurrentThreadCpuTime();
            for (int i = 0; i < runs; i++) {
                model.run(inputs).close();
            }
            return new Cost(
                    (double) (THREADS.getCurrentThreadCpuTime() - cpu) / runs,
                    (double) (System.nanoTime() - began) / runs);
        };
        final List<Future<Cost>> futures = new ArrayList<>();
        for (int i = 0; i < threads; i++) {
            futures.add(executor.submit(work));
        }
        double cpuNanos = 0;
        double elapsedNanos = 0;
        for (final Future<Cost> future : futures) {
            cpuNanos += future.get().cpuNanos() / threads;
            elapsedNanos = Math.max(elapsedNanos, future.get().elapsedNanos());
        }
        return new Cost(cpuNanos, elapsedNanos);
    }

    private static void print(Path path, int size, int threads, List<Subject> subjects, long allocations) {
        final Subject first = subjects.getFirst();
        for (final Subject subject : subjects) {
            final Sample ratio = subject.cpu.over(first.cpu);
            System.out.printf(
                    Locale.ROOT,
                    "| %s | %d | %d | %s | %.1f | %.3f | %s | %.1f | %.0f | %d |%n",
                    path.getFileName(),
                    size,
                    threads,
                    subject.name,
                    subject.cpu.median() / 1e3,
                    ratio.median(),
                    ratio.interval("%.3f"),
                    subject.elapsed.median() / 1e3,
                    threads * 1e9 / subject.elapsed.median(),
                    allocations);
        }
    }
}
