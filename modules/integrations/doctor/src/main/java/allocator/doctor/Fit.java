package allocator.doctor;

import ai.onnxruntime.OnnxTensor;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtSession.SessionOptions;
import allocator.doctor.Recording.Runs;
import allocator.onnxruntime.AllocatorSession;
import allocator.onnxruntime.OnnxRuntimeAllocators;
import allocator.onnxruntime.SessionSettings;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeSet;

/**
 * Predicts a session's peak at sizes that are never run. A stage runs the model at n, 2n and 3n, predicts 4n, and runs
 * that too: if the prediction holds, sizes up to four times the largest run are predicted. Otherwise, or if the limit
 * allows more, there is another stage of larger runs, as long as there is time; none is expected to need half the
 * limit.
 */
final class Fit {
    /** The sizes of a stage, in multiples of its first; the last one checks what the others predict. */
    private static final int RUNS = 4;

    /** How far beyond the largest run a prediction holds. */
    static final int REACH = 4;

    /** What a prediction may be low by. */
    private static final double MARGIN = 0.01;

    private static final int STAGES = 8;

    /** More than any dimension has. */
    private static final long MOST_SIZE = 1L << 32;

    private static final long NANOS = 30_000_000_000L;

    private final Settings settings;
    private final long limit;
    private final List<Map<String, Object>> runs = new ArrayList<>();
    private final List<Map<String, Object>> changes = new ArrayList<>();

    /** The largest size that was run within the limit; 0 for none. */
    private long largestRun;

    /** Why a size cannot be run; empty if all could. */
    private String failure = "";

    Fit(Settings settings) {
        this.settings = settings;
        limit = settings.number("limit");
    }

    /** Returns the runs and their prediction; {@code largest} is a size that fits, the largest one if {@code known}. */
    Map<String, Object> fit() throws OrtException {
        try (OnnxRuntimeAllocators memory = Measurement.install(settings)) {
            return fit(memory);
        }
    }

    private Map<String, Object> fit(OnnxRuntimeAllocators memory) throws OrtException {
        final long start = System.nanoTime();
        Optional<PeakModel> best = Optional.empty();
        long reach = 0;
        long next = 1;
        for (int stage = 0; stage < STAGES; stage++) {
            final long n = next;
            final long began = System.nanoTime();
            final List<Runs> recorded = new ArrayList<>();
            boolean isRun = true;
            for (int i = 1; isRun && i <= RUNS; i++) {
                isRun = run(memory, n * i, recorded);
                if (isRun && i > 1 && !recorded.get(i - 2).areLike(recorded.get(i - 1))) {
                    changes.add(Result.of("from", n * (i - 1), "to", n * i));
                }
            }
            if (!isRun) {
                // A model may need a least size, as of an image.
                if (best.isEmpty() && recorded.isEmpty()) {
                    next = RUNS * n;
                    continue;
                }
                return result(best, reach, false);
            }
            if (n == 1 && recorded.getFirst().peak() > limit) {
                return result(best, reach, true);
            }
            final Optional<PeakModel> model = model(n, recorded);
            long expected = RUNS * n * limit / recorded.getLast().peak();
            if (model.isPresent()) {
                best = model;
                reach = RUNS * n * REACH;
                final long largest = largest(model.get(), reach);
                if (largest < reach && (largest >= n || n == 1)) {
                    return result(best, reach, true);
                }
                expected = largest(model.get(), MOST_SIZE);
            }
            final long now = System.nanoTime();
            if (now - start + (now - began) * RUNS > NANOS) {
                return result(best, reach, false);
            }
            next = Math.min(RUNS * n, Math.max(n + 1, Math.ceilDiv(expected + expected / 8, RUNS * REACH)));
        }
        return result(best, reach, false);
    }

    /** Fits a stage; empty if its last run is not as the others predict. */
    private Optional<PeakModel> model(long n, List<Runs> recorded) {
        final Runs check = recorded.getLast();
        final Optional<PeakModel> model =
                PeakModel.of(n, recorded.subList(0, RUNS - 1)).filter(_ -> check.areLike(recorded.getFirst()));
        model.ifPresent(fitted -> runs.getLast().put("predicted", fitted.peak(RUNS * n)));
        return model.filter(fitted -> fitted.predicts(RUNS * n, check));
    }

    private long largest(PeakModel model, long reach) {
        long low = 0;
        long high = reach;
        while (low < high) {
            final long middle = (low + high + 1) / 2;
            if (model.peak(middle) * (1 + MARGIN) <= limit) {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        return low;
    }

    private Map<String, Object> result(Optional<PeakModel> fitted, long reach, boolean isKnown) {
        final Map<String, Object> result =
                Result.of("runs", runs, "changes", changes, "failure", failure, "known", isKnown, "reach", reach);
        long largest = 0;
        if (fitted.isPresent()) {
            final PeakModel model = fitted.get();
            largest = largest(model, reach);
            final List<Map<String, Object>> predictions = new ArrayList<>();
            for (final long n : new TreeSet<>(List.of(reach / 2, reach, Math.max(1, largest), largest + 1))) {
                if (n <= reach) {
                    predictions.add(Result.of("n", n, "peak", model.peak(n)));
                }
            }
            final double[] polynomial = model.polynomial(Math.max(1, largest));
            result.put("polynomial", List.of(polynomial[0], polynomial[1], polynomial[2]));
            result.put("predictions", predictions);
        }
        result.put("largest", isKnown ? largest : largestRun);
        return result;
    }

    /**
     * Runs the model twice in a session of its own: in the second run ONNX Runtime uses one block for most tensors.
     * Returns whether it runs at this size.
     */
    private boolean run(OnnxRuntimeAllocators memory, long n, List<Runs> recorded) throws OrtException {
        final List<Recording> opened = new ArrayList<>();
        try (SessionOptions options = settings.options();
                AllocatorSession session = memory.openSession(
                        settings.model(),
                        options,
                        SessionSettings.DEFAULT.withBudget(Settings.hostLimit()).withDecorator(allocator -> {
                            opened.add(new Recording(allocator));
                            return opened.getLast();
                        }))) {
            final List<Input> inputs = Input.of(session.session().getInputInfo(), settings.with("shape."));
            final TreeSet<String> names = Input.variables(inputs);
            if (names.size() != 1) {
                throw new Input.ShapeException(
                        "--shape: " + (names.isEmpty() ? "no dimension is" : names.size() + " dimensions are")
                                + " named to vary, and one has to be, as in --shape NAME=Nx128");
            }
            final Map<String, OnnxTensor> tensors = Input.tensors(inputs, n, 1);
            try {
                final Runs two =
                        opened.getFirst().record(() -> session.run(tensors).close());
                runs.add(Result.of("n", n, "peak", two.peak()));
                recorded.add(two);
                largestRun = two.peak() <= limit ? Math.max(largestRun, n) : largestRun;
                return true;
            } catch (OrtException e) {
                failure = names.first() + "=" + n + " fails: " + Main.message(e);
                return false;
            } finally {
                tensors.values().forEach(OnnxTensor::close);
            }
        } finally {
            memory.shrink();
        }
    }
}
