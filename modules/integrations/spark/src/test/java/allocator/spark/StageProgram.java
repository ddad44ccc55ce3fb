package allocator.spark;

import ai.onnxruntime.OnnxTensor;
import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtSession;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.FloatBuffer;
import java.nio.LongBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.stream.IntStream;
import java.util.zip.GZIPInputStream;
import org.apache.spark.SparkFiles;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.api.java.function.FlatMapFunction;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerStageCompleted;

/**
 * What {@code bench/run spark} measures: stages of inference, and stages of tasks that do next to nothing, on two
 * executors, with the plug-in or without. Prints a line for each stage: its name, its milliseconds, and the
 * milliseconds of processor time of its tasks.
 */
final class StageProgram {
    private static final String MODEL = "model.onnx";
    private static final int WORDS = 16;
    private static final int BATCH = 16;

    private StageProgram() {}

    /** The times of the stages that have ended. */
    private static final class Stages extends SparkListener {
        final BlockingQueue<String> times = new LinkedBlockingQueue<>();

        @Override
        public void onStageCompleted(SparkListenerStageCompleted event) {
            final long begin = (Long) event.stageInfo().submissionTime().get();
            final long end = (Long) event.stageInfo().completionTime().get();
            times.add((end - begin) + " " + event.stageInfo().taskMetrics().executorCpuTime() / 1e6);
        }
    }

    /** The same inference as that of the plug-in, with ONNX Runtime's own memory: a session for each executor. */
    private record Plain() implements FlatMapFunction<Iterator<Integer>, Float> {
        private static final Map<String, OrtSession> SESSIONS = new HashMap<>();

        private static OrtSession session() throws OrtException {
            synchronized (SESSIONS) {
                OrtSession session = SESSIONS.get(MODEL);
                if (session == null) {
                    try (OrtSession.SessionOptions options = new OrtSession.SessionOptions()) {
                        options.setIntraOpNumThreads(1);
                        options.setInterOpNumThreads(1);
                        session = OrtEnvironment.getEnvironment().createSession(SparkFiles.get(MODEL), options);
                    }
                    SESSIONS.put(MODEL, session);
                }
                return session;
            }
        }

        @Override
        public Iterator<Float> call(Iterator<Integer> rows) throws OrtException {
            final OrtSession session = session();
            final List<Float> results = new ArrayList<>();
            while (rows.hasNext()) {
                final List<Integer> batch = new ArrayList<>();
                while (batch.size() < BATCH && rows.hasNext()) {
                    batch.add(rows.next());
                }
                final Map<String, OnnxTensor> tensors = inputs(OrtEnvironment.getEnvironment(), batch);
                try (OrtSession.Result result = session.run(tensors)) {
                    results.addAll(outputs(result));
                } finally {
                    tensors.values().forEach(OnnxTensor::close);
                }
            }
            return results.iterator();
        }
    }

    private static Map<String, OnnxTensor> inputs(OrtEnvironment environment, List<Integer> rows) throws OrtException {
        final long[] ids = new long[rows.size() * WORDS];
        for (int i = 0; i < ids.length; i++) {
            ids[i] = 1L + (rows.get(i / WORDS) + i) % 99;
        }
        final long[] mask = new long[ids.length];
        Arrays.fill(mask, 1);
        final long[] shape = {rows.size(), WORDS};
        return Map.of(
                "input_ids", OnnxTensor.createTensor(environment, LongBuffer.wrap(ids), shape),
                "attention_mask", OnnxTensor.createTensor(environment, LongBuffer.wrap(mask), shape));
    }

    private static List<Float> outputs(OrtSession.Result result) throws OrtException {
        final OnnxTensor tensor = (OnnxTensor) result.get(0);
        final FloatBuffer values = tensor.getFloatBuffer();
        final int rows = (int) tensor.getInfo().getShape()[0];
        return IntStream.range(0, rows)
                .mapToObj(row -> values.get(row * (values.limit() / rows)))
                .toList();
    }

    private static void unpack(Path from, Path to) {
        try (InputStream bytes = new GZIPInputStream(Files.newInputStream(from))) {
            Files.copy(bytes, to);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Takes {@code plain} or {@code plugin}, the packed model, the rows of a stage, and the number of stages. */
    public static void main(String[] arguments) throws Exception {
        final boolean hasPlugin = arguments[0].equals("plugin");
        final int rows = Integer.parseInt(arguments[2]);
        final int stages = Integer.parseInt(arguments[3]);
        final Map<String, String> settings = new HashMap<>(Map.of(
                "spark.executor.extraJavaOptions", "--enable-native-access=ALL-UNNAMED",
                "spark.executor.memoryOverhead", "1g"));
        if (hasPlugin) {
            settings.put("spark.plugins", AllocatorPlugin.class.getName());
        }
        final Path folder = Files.createTempDirectory("stage");
        final Path model = folder.resolve(MODEL);
        unpack(Path.of(arguments[1]), model);
        try (JavaSparkContext spark = SparkCluster.ofProcesses(2, settings)) {
            final Stages times = new Stages();
            spark.sc().addSparkListener(times);
            spark.addFile(model.toString());
            final FlatMapFunction<Iterator<Integer>, Float> inference =
                    hasPlugin ? Inference.of(MODEL, BATCH, StageProgram::inputs, StageProgram::outputs) : new Plain();
            final JavaRDD<Integer> all =
                    spark.parallelize(IntStream.range(0, rows).boxed().toList(), 8);
            final JavaRDD<Integer> small =
                    spark.parallelize(IntStream.range(0, 400).boxed().toList(), 400);
            // The first stages of each kind warm the executors up.
            for (int i = -2; i < stages; i++) {
                final double sum = all.mapPartitions(inference).collect().stream()
                        .mapToDouble(Float::doubleValue)
                        .sum();
                print(i, "inference", times.times.take(), String.valueOf(sum));
                final long count = small.map(row -> row).count();
                print(i, "tasks", times.times.take(), String.valueOf(count));
            }
        } finally {
            Files.delete(model);
            Files.delete(folder);
        }
    }

    private static void print(int stage, String name, String times, String check) {
        if (stage >= 0) {
            System.out.println("stage " + name + " " + times + " " + check);
        }
    }
}
