package allocator.bench.models;

import ai.onnxruntime.OnnxTensor;
import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtSession;
import ai.onnxruntime.OrtSession.RunOptions;
import ai.onnxruntime.OrtSession.SessionOptions;
import allocator.bench.report.Machine;
import allocator.onnxruntime.AllocatorSession;
import allocator.onnxruntime.OnnxRuntimeAllocators;
import allocator.onnxruntime.SessionSettings;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * A day of bursts and idle hours in miniature: how much memory of the process is resident at the end of each hour,
 * above what it was with the session open and warm. Linux only.
 *
 * <p>Arguments: a subject ({@code head} for the table's head), the size of the inputs' free dimensions after the first,
 * and a model. Each subject wants a process of its own.
 */
public final class ModelMemory {
    private static final int[] BATCHES = {1, 1, 4, 16, 4, 1, 1, 2, 32, 8, 1, 1};
    private static final int RUNS = 20;

    private ModelMemory() {}

    /**
     * A session through its day.
     *
     * @param end makes a run with which an hour ends, and what is done to give memory back
     * @param open what is closed at last, in this order
     */
    private record Day(OrtSession session, HourEnd end, List<Closing> open) implements AutoCloseable {
        @Override
        public void close() throws OrtException {
            for (final Closing each : open) {
                each.close();
            }
        }
    }

    private interface HourEnd {
        void run(Map<String, OnnxTensor> inputs) throws OrtException;
    }

    private interface Closing {
        void close() throws OrtException;
    }

    /**
     * Runs the day.
     *
     * @param args subject, size, model
     * @throws Exception if the model cannot be run
     */
    public static void main(String[] args) throws Exception {
        if (args[0].equals("head")) {
            System.out.println("| MiB after the hour with batches of | "
                    + IntStream.of(BATCHES).mapToObj(String::valueOf).collect(Collectors.joining(" | "))
                    + " | mean | peak | cpu s |");
            System.out.println("|---" + "|---".repeat(BATCHES.length + 3) + "|");
            return;
        }
        final int size = Integer.parseInt(args[1]);
        try (Day day = open(args[0], Path.of(args[2]))) {
            run(day, 1, size);
            final long start = Machine.kibibytes("VmRSS:");
            final List<Double> hours = new ArrayList<>();
            for (final int batch : BATCHES) {
                run(day, batch, size);
                hours.add((Machine.kibibytes("VmRSS:") - start) / 1024.0);
            }
            System.out.printf(
                    Locale.ROOT,
                    "| %s | %s | %.1f | %.1f | %.1f |%n",
                    args[0],
                    hours.stream()
                            .map(mebibytes -> String.format(Locale.ROOT, "%.0f", mebibytes))
                            .collect(Collectors.joining(" | ")),
                    hours.stream().mapToDouble(Double::doubleValue).average().orElseThrow(),
                    (Machine.kibibytes("VmHWM:") - start) / 1024.0,
                    ProcessHandle.current()
                                    .info()
                                    .totalCpuDuration()
                                    .orElseThrow()
                                    .toMillis()
                            / 1e3);
        }
    }

    private static void run(Day day, int batch, int size) throws OrtException {
        final Map<String, OnnxTensor> inputs = ModelInputs.of(day.session(), batch, size);
        for (int i = 1; i < RUNS; i++) {
            day.session().run(inputs).close();
        }
        day.end().run(inputs);
        inputs.values().forEach(OnnxTensor::close);
    }

    private static Day open(String subject, Path model) throws OrtException {
        return switch (subject) {
            case "ort" -> theirs(model, false);
            case "ort-shrinking" -> theirs(model, true);
            case "ours" -> ours(model, "0", false);
            case "ours-shrinking" -> ours(model, "0", true);
            case "ours-shrinking-as-requested" -> ours(model, "1", true);
            default -> throw new IllegalArgumentException("no subject is called " + subject);
        };
    }

    private static SessionOptions options() throws OrtException {
        final SessionOptions options = new SessionOptions();
        options.setIntraOpNumThreads(1);
        return options;
    }

    private static Day theirs(Path model, boolean shrinks) throws OrtException {
        final SessionOptions options = options();
        final OrtSession session = OrtEnvironment.getEnvironment().createSession(model.toString(), options);
        final RunOptions last = new RunOptions();
        if (shrinks) {
            last.addRunConfigEntry("memory.enable_memory_arena_shrinkage", "cpu:0");
        }
        return new Day(
                session,
                inputs -> session.run(inputs, last).close(),
                List.of(last::close, session::close, options::close));
    }

    private static Day ours(Path model, String strategy, boolean shrinks) throws OrtException {
        final OnnxRuntimeAllocators memory = OnnxRuntimeAllocators.on(OrtEnvironment.getEnvironment())
                .provider("cpu-reference")
                .option("arena.extend_strategy", strategy)
                .install();
        final SessionOptions options = options();
        final AllocatorSession session = memory.openSession(model, options, SessionSettings.DEFAULT);
        return new Day(
                session.session(),
                inputs -> {
                    session.run(inputs).close();
                    if (shrinks) {
                        memory.shrink();
                    }
                },
                List.of(session::close, memory::close, options::close));
    }
}
