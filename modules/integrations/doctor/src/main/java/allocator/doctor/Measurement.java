package allocator.doctor;

import ai.onnxruntime.OnnxTensor;
import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtSession;
import ai.onnxruntime.OrtSession.RunOptions;
import ai.onnxruntime.OrtSession.SessionOptions;
import allocator.onnxruntime.AllocatorSession;
import allocator.onnxruntime.GpuMemory;
import allocator.onnxruntime.MemoryProfile.Peak;
import allocator.onnxruntime.MemoryProfile.Share;
import allocator.onnxruntime.OnnxRuntimeAllocators;
import allocator.onnxruntime.SessionSettings;
import allocator.spi.AllocatorStats;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Runs a model with one configuration, and notes what it holds. One for each process. */
final class Measurement {
    private static final int COLD_RUNS = 3;
    private static final int LEAST_RUNS = 3;
    private static final int BURST_RUNS = 3;
    private static final String OWN_SHRINK = "memory.enable_memory_arena_shrinkage";

    private final Settings settings;
    private final List<Input> inputs;

    /** Both are {@code null} with ONNX Runtime's own arena. */
    private @Nullable OnnxRuntimeAllocators memory;

    private @Nullable AllocatorSession session;

    /** @param settings with the inputs that a profile has returned */
    Measurement(Settings settings) {
        this.settings = settings;
        inputs = Input.read(settings.with("tensor."));
    }

    /** Returns the inputs, and who has the peak: the bytes of each kind, layer and operator. */
    static Map<String, Object> profile(Settings settings) throws OrtException {
        try (OnnxRuntimeAllocators memory = install(settings);
                SessionOptions options = settings.options();
                AllocatorSession session = memory.openSession(
                        settings.model(),
                        options,
                        SessionSettings.DEFAULT.withProfiling().withBudget(Settings.hostLimit()))) {
            final List<Input> inputs = Input.of(session.session().getInputInfo(), settings.with("shape."));
            if (!Input.variables(inputs).isEmpty()) {
                throw new Input.ShapeException(
                        "--shape: '" + Input.variables(inputs).first() + "' is no number; allocator fit takes names");
            }
            final Map<String, OnnxTensor> tensors = Input.tensors(inputs, 0, 1);
            final Peak peak = session.profile(tensors).peak();
            tensors.values().forEach(OnnxTensor::close);
            final Map<String, Object> settingsOfInputs = Result.of();
            inputs.forEach(input -> settingsOfInputs.put(input.name(), input.setting()));
            return Result.of(
                    "inputs", settingsOfInputs,
                    "memory", peak.memory().toString(),
                    "peak", peak.bytes(),
                    "largest_burst", settings.gpu() < 0 ? Settings.hostLimit() / peak.bytes() : Integer.MAX_VALUE,
                    "by_kind", shares(peak.byKind()),
                    "by_layer", shares(peak.byLayer()),
                    "by_operator", shares(peak.byNode()));
        }
    }

    private static List<Map<String, Object>> shares(List<Share> shares) {
        return shares.stream()
                .map(share -> Result.of("name", share.name(), "bytes", share.bytes()))
                .toList();
    }

    static OnnxRuntimeAllocators install(Settings settings) {
        final OnnxRuntimeAllocators.Builder builder = OnnxRuntimeAllocators.onEnvironment();
        final Map<String, String> options = settings.with("option.");
        if (settings.gpu() < 0) {
            builder.provider("cpu-reference");
            options.forEach(builder::option);
            return builder.install();
        }
        GpuMemory gpu = GpuMemory.of("cuda-arena").withOrdinal(settings.gpu());
        for (final Map.Entry<String, String> option : options.entrySet()) {
            gpu = gpu.withOption(option.getKey(), option.getValue());
        }
        return builder.gpu(gpu).install();
    }

    /** Runs the model steadily, then a burst of larger batches if the model has them, and shrinks. */
    Map<String, Object> measure() throws OrtException, IOException {
        final Map<String, OnnxTensor> tensors = Input.tensors(inputs, 0, 1);
        final boolean hasBurst = settings.number("burst") > 1 && inputs.stream().anyMatch(Input::isBatch);
        final Map<String, OnnxTensor> many = Input.tensors(inputs, 0, hasBurst ? settings.number("burst") : 1);
        if (settings.is("own")) {
            final Resident before = Resident.read();
            try (SessionOptions options = settings.options();
                    OrtSession own = OrtEnvironment.getEnvironment()
                            .createSession(settings.model().toString(), options);
                    RunOptions shrinking = new RunOptions()) {
                shrinking.addRunConfigEntry(OWN_SHRINK, settings.gpu() < 0 ? "cpu:0" : "gpu:" + settings.gpu());
                return measure(
                        before,
                        own::run,
                        many,
                        tensors,
                        hasBurst,
                        () -> own.run(tensors, own.getOutputNames(), shrinking).close());
            }
        }
        try (OnnxRuntimeAllocators installed = install(settings)) {
            memory = installed;
            final Resident before = Resident.read();
            try (SessionOptions options = settings.options();
                    AllocatorSession opened = installed.openSession(
                            settings.model(), options, SessionSettings.DEFAULT.withBudget(Settings.hostLimit()))) {
                session = opened;
                return measure(before, opened::run, many, tensors, hasBurst, installed::shrink);
            }
        }
    }

    /** A run of the model. */
    private interface Run {
        OrtSession.Result run(Map<String, OnnxTensor> inputs) throws OrtException;
    }

    /** Returns unused memory. */
    private interface Shrink {
        void shrink() throws OrtException;
    }

    private Map<String, Object> measure(
            Resident before,
            Run run,
            Map<String, OnnxTensor> many,
            Map<String, OnnxTensor> tensors,
            boolean hasBurst,
            Shrink shrink)
            throws OrtException, IOException {
        final List<Long> nanos = new ArrayList<>();
        final long end = System.nanoTime() + settings.number("millis") * 1_000_000;
        for (int i = 0; i < COLD_RUNS + LEAST_RUNS || System.nanoTime() < end; i++) {
            final long start = System.nanoTime();
            run.run(tensors).close();
            if (i >= COLD_RUNS) {
                nanos.add(System.nanoTime() - start);
            }
        }
        Collections.sort(nanos);
        final Resident steady = Resident.read();
        final Map<String, Object> result = Result.of(
                "nanos", nanos.get(nanos.size() / 2),
                "runs", nanos.size(),
                "resident", Math.max(0, steady.now() - before.now()),
                "peak_resident", Math.max(0, steady.peak() - before.now()));
        put(result, "");
        if (session != null) {
            result.put("peak_in_use", session.stats().peakBytesInUse());
        }
        if (hasBurst) {
            for (int i = 0; i < BURST_RUNS; i++) {
                run.run(many).close();
            }
            run.run(tensors).close();
            result.put("burst_resident", Math.max(0, Resident.read().now() - before.now()));
            put(result, "burst_");
            shrink.shrink();
            result.put("shrunk_resident", Math.max(0, Resident.read().now() - before.now()));
            put(result, "shrunk_");
        }
        return result;
    }

    private void put(Map<String, Object> result, String when) {
        if (memory != null) {
            final AllocatorStats stats = memory.memories().getFirst().stats();
            result.put(when + "held", stats.bytesHeld());
            result.put(when + "peak_held", stats.peakBytesHeld());
        }
    }
}
