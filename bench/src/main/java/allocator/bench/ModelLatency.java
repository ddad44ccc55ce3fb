package allocator.bench;

import ai.onnxruntime.OnnxJavaType;
import ai.onnxruntime.OnnxTensor;
import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtSession;
import ai.onnxruntime.OrtSession.SessionOptions;
import ai.onnxruntime.TensorInfo;
import allocator.onnxruntime.AllocatorSession;
import allocator.onnxruntime.OnnxRuntimeAllocators;
import allocator.onnxruntime.SessionSettings;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.FloatBuffer;
import java.nio.LongBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * How long a real model runs with ONNX Runtime's arena and with ours. Three sessions take turns, so that all see the same
 * disturbances: two of ONNX Runtime's, whose ratio is the control that tells how far to trust the other, and ours. A run
 * uses one thread, whose processor time is measured; figures are medians.
 *
 * <p>Arguments: the size of the inputs' free dimensions after the first, which is 1; how many rounds; and models.
 */
public final class ModelLatency {
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

    private ModelLatency() {}

    /** A session of either kind. */
    private interface Model {
        OrtSession.Result run(Map<String, OnnxTensor> inputs) throws OrtException;
    }

    /**
     * Measures each model.
     *
     * @param args size, rounds, models
     * @throws OrtException if a model cannot be run
     */
    public static void main(String[] args) throws OrtException {
        final int size = Integer.parseInt(args[0]);
        final int rounds = Integer.parseInt(args[1]);
        System.out.printf(
                "%-20s %6s %10s %10s %8s %8s %10s %10s%n",
                "model", "size", "ort us", "ours us", "ratio", "control", "allocs/run", "held MiB");
        for (final String model : Arrays.asList(args).subList(2, args.length)) {
            measure(Path.of(model), size, rounds);
        }
    }

    private static void measure(Path path, int size, int rounds) throws OrtException {
        final OrtEnvironment environment = OrtEnvironment.getEnvironment();
        try (OnnxRuntimeAllocators memory = OnnxRuntimeAllocators.on(environment)
                        .provider("cpu-reference")
                        .install();
                SessionOptions options = new SessionOptions();
                SessionOptions plain = new SessionOptions()) {
            memory.warmUp();
            options.setIntraOpNumThreads(1);
            plain.setIntraOpNumThreads(1);
            try (AllocatorSession ours = memory.openSession(path, options, SessionSettings.DEFAULT);
                    OrtSession theirs = environment.createSession(path.toString(), plain);
                    OrtSession again = environment.createSession(path.toString(), plain)) {
                final Map<String, OnnxTensor> inputs = inputs(environment, theirs, size);
                final List<Model> models = List.of(theirs::run, again::run, ours::run);
                final int warmup = Math.max(20, rounds / 5);
                long before = 0;
                final List<List<Long>> nanos = List.of(new ArrayList<>(), new ArrayList<>(), new ArrayList<>());
                for (int i = -warmup; i < rounds; i++) {
                    if (i == 0) {
                        before = ours.stats().numAllocs();
                        nanos.forEach(List::clear);
                    }
                    for (int j = 0; j < models.size(); j++) {
                        final int turn = Math.floorMod(i + j, models.size());
                        nanos.get(turn).add(run(models.get(turn), inputs));
                    }
                }
                final double theirMedian = median(nanos.get(0));
                final double ourMedian = median(nanos.get(2));
                System.out.printf(
                        Locale.ROOT,
                        "%-20s %6d %10.1f %10.1f %8.3f %8.3f %10d %10.1f%n",
                        path.getFileName(),
                        size,
                        theirMedian / 1e3,
                        ourMedian / 1e3,
                        ourMedian / theirMedian,
                        median(nanos.get(1)) / theirMedian,
                        (ours.stats().numAllocs() - before) / rounds,
                        memory.stats().bytesHeld() / 1048576.0);
                inputs.values().forEach(OnnxTensor::close);
            }
        }
    }

    private static long run(Model model, Map<String, OnnxTensor> inputs) throws OrtException {
        final long start = THREADS.getCurrentThreadCpuTime();
        model.run(inputs).close();
        return THREADS.getCurrentThreadCpuTime() - start;
    }

    /** Inputs of zeros and ones, with the free dimensions filled in. */
    private static Map<String, OnnxTensor> inputs(OrtEnvironment environment, OrtSession session, int size)
            throws OrtException {
        final Map<String, OnnxTensor> inputs = new HashMap<>();
        for (final var input : session.getInputInfo().entrySet()) {
            final TensorInfo info = (TensorInfo) input.getValue().getInfo();
            final long[] shape = info.getShape().clone();
            int count = 1;
            for (int i = 0; i < shape.length; i++) {
                shape[i] = shape[i] >= 0 ? shape[i] : i == 0 ? 1 : size;
                count = Math.multiplyExact(count, Math.toIntExact(shape[i]));
            }
            if (info.type == OnnxJavaType.FLOAT) {
                inputs.put(input.getKey(), OnnxTensor.createTensor(environment, FloatBuffer.allocate(count), shape));
            } else {
                final long[] ones = new long[count];
                Arrays.fill(ones, 1);
                inputs.put(input.getKey(), OnnxTensor.createTensor(environment, LongBuffer.wrap(ones), shape));
            }
        }
        return inputs;
    }

    private static double median(List<Long> values) {
        final long[] sorted =
                values.stream().mapToLong(Long::longValue).sorted().toArray();
        return sorted[sorted.length / 2];
    }
}
