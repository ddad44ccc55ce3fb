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
 * How long a real model runs with ONNX Runtime's arena and with ours. Runs alternate, one of each, so that both see the
 * same disturbances; a model uses one thread, whose processor time is measured.
 *
 * <p>Arguments: the size of the inputs' free dimensions after the first, which is 1; how many pairs of runs; and models.
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
     * @param args size, pairs, models
     * @throws OrtException if a model cannot be run
     */
    public static void main(String[] args) throws OrtException {
        final int size = Integer.parseInt(args[0]);
        final int pairs = Integer.parseInt(args[1]);
        System.out.printf(
                "%-20s %6s %12s %12s %8s %12s %10s%n",
                "model", "size", "ort us", "ours us", "ratio", "allocs/run", "held MiB");
        for (final String model : Arrays.asList(args).subList(2, args.length)) {
            measure(Path.of(model), size, pairs);
        }
    }

    private static void measure(Path path, int size, int pairs) throws OrtException {
        final OrtEnvironment environment = OrtEnvironment.getEnvironment();
        try (OnnxRuntimeAllocators memory = OnnxRuntimeAllocators.on(environment)
                        .provider("cpu-reference")
                        .install();
                SessionOptions options = new SessionOptions();
                SessionOptions plain = new SessionOptions()) {
            options.setIntraOpNumThreads(1);
            plain.setIntraOpNumThreads(1);
            try (AllocatorSession ours = memory.openSession(path, options, SessionSettings.DEFAULT);
                    OrtSession theirs = environment.createSession(path.toString(), plain)) {
                final Map<String, OnnxTensor> inputs = inputs(environment, theirs, size);
                final int warmup = Math.max(20, pairs / 5);
                for (int i = 0; i < warmup; i++) {
                    run(theirs::run, inputs);
                    run(ours::run, inputs);
                }
                final long before = ours.stats().numAllocs();
                final List<Long> theirNanos = new ArrayList<>();
                final List<Long> ourNanos = new ArrayList<>();
                for (int i = 0; i < pairs; i++) {
                    theirNanos.add(run(theirs::run, inputs));
                    ourNanos.add(run(ours::run, inputs));
                }
                final double theirMedian = median(theirNanos);
                final double ourMedian = median(ourNanos);
                System.out.printf(
                        Locale.ROOT,
                        "%-20s %6d %12.1f %12.1f %8.4f %12d %10.1f%n",
                        path.getFileName(),
                        size,
                        theirMedian / 1e3,
                        ourMedian / 1e3,
                        ourMedian / theirMedian,
                        (ours.stats().numAllocs() - before) / pairs,
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
