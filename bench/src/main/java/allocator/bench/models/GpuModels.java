package allocator.bench.models;

import ai.onnxruntime.OnnxTensor;
import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtLoggingLevel;
import ai.onnxruntime.OrtSession;
import ai.onnxruntime.OrtSession.SessionOptions;
import ai.onnxruntime.providers.OrtCUDAProviderOptions;
import allocator.onnxruntime.AllocatorSession;
import allocator.onnxruntime.GpuMemory;
import allocator.onnxruntime.OnnxRuntimeAllocators;
import allocator.onnxruntime.SessionSettings;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;

/**
 * Sessions of ONNX Runtime's CUDA provider with its own arena and with memory of ours: how long a run takes, and how
 * much memory several sessions that take turns hold on the device.
 *
 * <p>In each round every subject runs for some twenty milliseconds, in an order that rotates, and is compared with the
 * first of that round. A second session of ONNX Runtime's own tells how far to trust the ratios.
 *
 * <p>Arguments: how many rounds, and models, each with the sizes of its inputs' free dimensions after the first, such
 * as {@code tiny_bert.onnx:16,128,8x512}. The first is 1, or the number before {@code x}.
 */
public final class GpuModels {
    private static final long BATCH_NANOS = 20_000_000;
    private static final int WARM_UP = 2000;
    private static final int[] SESSIONS = {1, 4, 8};
    private static final int[] BURSTS = {1, 8, 32, 4, 1};

    private static final Kind THEIRS = new Kind("ort", Map.of(), "", Map.of());
    private static final List<Kind> KINDS = List.of(
            THEIRS,
            new Kind("ort, again", Map.of(), "", Map.of()),
            new Kind("ort, as requested", Map.of("arena_extend_strategy", "kSameAsRequested"), "", Map.of()),
            new Kind("cuda-arena", Map.of(), "cuda-arena", Map.of()),
            new Kind("cuda-arena, slabs", Map.of(), "cuda-arena", Map.of("arena.policy", "slabs")),
            new Kind("cuda-arena, compact", Map.of(), "cuda-arena", Map.of("arena.policy", "compact")),
            new Kind("cuda-mempool", Map.of(), "cuda-mempool", Map.of()));

    private final int rounds;
    private final Path model;

    private GpuModels(int rounds, Path model) {
        this.rounds = rounds;
        this.model = model;
    }

    /**
     * A way to give sessions memory.
     *
     * @param options those of ONNX Runtime's CUDA provider
     * @param provider ours, empty for ONNX Runtime's arena
     */
    private record Kind(String name, Map<String, String> options, String provider, Map<String, String> settings) {
        Optional<OnnxRuntimeAllocators> install() {
            if (provider.isEmpty()) {
                return Optional.empty();
            }
            GpuMemory memory = GpuMemory.of(provider);
            for (final var setting : settings.entrySet()) {
                memory = memory.withOption(setting.getKey(), setting.getValue());
            }
            return Optional.of(OnnxRuntimeAllocators.on(OrtEnvironment.getEnvironment())
                    .gpu(memory)
                    .install());
        }
    }

    /**
     * The free dimensions of inputs.
     *
     * @param batch the first
     * @param size the others
     */
    private record Shape(int batch, int size) {
        static Shape parse(String text) {
            final int x = text.indexOf('x');
            return new Shape(
                    x < 0 ? 1 : Integer.parseInt(text.substring(0, x)), Integer.parseInt(text.substring(x + 1)));
        }

        @Override
        public String toString() {
            return batch == 1 ? Integer.toString(size) : batch + " x " + size;
        }
    }

    /** A session of some kind. */
    private record Model(OrtSession session, Runs runs, Closing closing) implements AutoCloseable {
        OrtSession.Result run(Map<String, OnnxTensor> inputs) throws OrtException {
            return runs.run(inputs);
        }

        @Override
        public void close() throws OrtException {
            closing.close();
        }
    }

    private interface Runs {
        OrtSession.Result run(Map<String, OnnxTensor> inputs) throws OrtException;
    }

    private interface Closing {
        void close() throws OrtException;
    }

    public static void main(String[] args) throws Exception {
        // Before the first options of the CUDA provider, which need the logger of the environment.
        System.out.println("ONNX Runtime " + OrtEnvironment.getEnvironment().getVersion());
        for (final String argument : Arrays.asList(args).subList(1, args.length)) {
            final int colon = argument.lastIndexOf(':');
            final GpuModels models = new GpuModels(Integer.parseInt(args[0]), Path.of(argument.substring(0, colon)));
            final List<Shape> shapes = Arrays.stream(
                            argument.substring(colon + 1).split(",", -1))
                    .map(Shape::parse)
                    .toList();
            models.latency(shapes);
            models.memory(shapes.getLast().size());
        }
    }

    private Model open(Kind kind, Optional<OnnxRuntimeAllocators> memory) throws OrtException {
        try (SessionOptions options = new SessionOptions();
                OrtCUDAProviderOptions cuda = new OrtCUDAProviderOptions(0)) {
            for (final var option : kind.options().entrySet()) {
                cuda.add(option.getKey(), option.getValue());
            }
            options.addCUDA(cuda);
            options.setSessionLogLevel(OrtLoggingLevel.ORT_LOGGING_LEVEL_ERROR);
            if (memory.isEmpty()) {
                final OrtSession session = OrtEnvironment.getEnvironment().createSession(model.toString(), options);
                return new Model(session, session::run, session::close);
            }
            final AllocatorSession session = memory.get().openSession(model, options, SessionSettings.DEFAULT);
            return new Model(session.session(), session::run, session::close);
        }
    }

    /** Measures each kind beside ONNX Runtime's arena, one kind at a time: there is one installation at a time. */
    private void latency(List<Shape> shapes) throws OrtException {
        System.out.println("| model | size | session | µs/run | of ort | 95 % |");
        System.out.println("|---|---:|---|---:|---:|---|");
        for (final Shape shape : shapes) {
            for (final Kind kind : KINDS.subList(1, KINDS.size())) {
                final Optional<OnnxRuntimeAllocators> memory = kind.install();
                try (Model theirs = open(THEIRS, Optional.empty());
                        Model other = open(kind, memory)) {
                    memory.ifPresent(OnnxRuntimeAllocators::warmUp);
                    final Map<String, OnnxTensor> inputs =
                            ModelInputs.of(theirs.session(), shape.batch(), shape.size());
                    print(kind, shape, compare(theirs, other, inputs));
                    inputs.values().forEach(OnnxTensor::close);
                }
                memory.ifPresent(OnnxRuntimeAllocators::close);
            }
        }
    }

    private Sample[] compare(Model theirs, Model other, Map<String, OnnxTensor> inputs) throws OrtException {
        batch(theirs, inputs, WARM_UP);
        batch(other, inputs, WARM_UP);
        final int runs = (int) Math.max(1, BATCH_NANOS / batch(theirs, inputs, 20));
        final Sample[] samples = {new Sample(), new Sample()};
        for (int round = 0; round < rounds; round++) {
            final boolean isFirst = round % 2 == 0;
            final double first = batch(isFirst ? theirs : other, inputs, runs);
            final double second = batch(isFirst ? other : theirs, inputs, runs);
            samples[0].add(isFirst ? first : second);
            samples[1].add(isFirst ? second : first);
        }
        return samples;
    }

    private static double batch(Model model, Map<String, OnnxTensor> inputs, int runs) throws OrtException {
        final long began = System.nanoTime();
        for (int i = 0; i < runs; i++) {
            model.run(inputs).close();
        }
        return (double) (System.nanoTime() - began) / runs;
    }

    private void print(Kind kind, Shape shape, Sample[] samples) {
        final Sample ratio = samples[1].over(samples[0]);
        System.out.printf(
                Locale.ROOT,
                "| %s | %s | %s | %.1f beside %.1f | %.3f | %s |%n",
                model.getFileName(),
                shape,
                kind.name(),
                samples[1].median() / 1e3,
                samples[0].median() / 1e3,
                ratio.median(),
                ratio.interval("%.3f"));
    }

    private void memory(int size) throws OrtException {
        System.out.println();
        System.out.println("| model | sessions | memory | MiB open | MiB after bursts in turn | MiB after a shrink |");
        System.out.println("|---|---:|---|---:|---:|---:|");
        // Loads what CUDA and its libraries take once, which is then part of every figure's beginning.
        try (Model first = open(THEIRS, Optional.empty())) {
            burst(List.of(first), size);
        }
        for (final int count : SESSIONS) {
            for (final Kind kind : KINDS) {
                if (!kind.name().equals("ort, again")) {
                    memory(kind, count, size);
                }
            }
        }
    }

    private void memory(Kind kind, int count, int size) throws OrtException {
        final double before = DeviceMemory.usedMebibytes();
        final Optional<OnnxRuntimeAllocators> memory = kind.install();
        final List<Model> sessions = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            sessions.add(open(kind, memory));
        }
        final double open = DeviceMemory.usedMebibytes() - before;
        burst(sessions, size);
        final double after = DeviceMemory.usedMebibytes() - before;
        if (memory.isPresent()) {
            memory.get().shrink();
        } else {
            for (final Model session : sessions) {
                shrink(session, size);
            }
        }
        System.out.printf(
                Locale.ROOT,
                "| %s | %d | %s | %.0f | %.0f | %.0f |%n",
                model.getFileName(),
                count,
                kind.name(),
                open,
                after,
                DeviceMemory.usedMebibytes() - before);
        for (final Model session : sessions) {
            session.close();
        }
        memory.ifPresent(OnnxRuntimeAllocators::close);
    }

    private static void burst(List<Model> sessions, int size) throws OrtException {
        for (final int batch : BURSTS) {
            for (final Model session : sessions) {
                final Map<String, OnnxTensor> inputs = ModelInputs.of(session.session(), batch, size);
                session.run(inputs).close();
                inputs.values().forEach(OnnxTensor::close);
            }
        }
    }

    /** Ends a small run with ONNX Runtime's own shrinkage. */
    private static void shrink(Model session, int size) throws OrtException {
        final Map<String, OnnxTensor> inputs = ModelInputs.of(session.session(), 1, size);
        try (OrtSession.RunOptions last = new OrtSession.RunOptions()) {
            last.addRunConfigEntry("memory.enable_memory_arena_shrinkage", "gpu:0");
            session.session()
                    .run(inputs, session.session().getOutputNames(), last)
                    .close();
        } catch (OrtException e) {
            // Version 1.29 finds no arena by this key; the memory stays.
            System.err.println(e.getMessage());
        }
        inputs.values().forEach(OnnxTensor::close);
    }
}
