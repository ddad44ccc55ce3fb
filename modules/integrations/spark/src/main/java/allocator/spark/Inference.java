package allocator.spark;

import ai.onnxruntime.OnnxTensor;
import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtSession;
import allocator.onnxruntime.AllocatorSession;
import allocator.spi.OutOfMemoryException;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Objects;
import org.apache.spark.api.java.function.FlatMapFunction;
import org.apache.spark.api.java.function.MapPartitionsFunction;

/**
 * Runs an ONNX model over the rows of a partition, in batches: a function for {@code JavaRDD.mapPartitions} and for
 * {@code Dataset.mapPartitions}.
 *
 * <p>Each executor opens one session of a model, which its tasks share. The weights are charged to the executor, what a
 * run allocates to the {@linkplain TaskMemory memory} of the task that runs it, except on threads of ONNX Runtime's
 * own, whose allocations are charged to the executor. A task whose batch does not fit fails with the
 * {@link OutOfMemoryException} of its budget.
 *
 * <p>Immutable and serializable, if its functions are. Each call's iterator is for one thread; it reads a batch of rows
 * when the results of the one before are used up, and stores one batch.
 *
 * @param <T> type of the rows
 * @param <R> type of the results
 */
public final class Inference<T, R> implements FlatMapFunction<Iterator<T>, R>, MapPartitionsFunction<T, R> {
    private static final long serialVersionUID = 1L;

    /** The model's file. */
    private final String model;

    /** The most rows of a run. */
    private final int batchSize;

    /** The threads of a run. */
    private final int threads;

    /** Makes the inputs of a run. */
    private final Inputs<T> inputs;

    /** Reads the results of a run. */
    private final Outputs<R> outputs;

    /**
     * Makes the inputs of a run.
     *
     * @param <T> type of the rows
     */
    @FunctionalInterface
    public interface Inputs<T> extends Serializable {
        /**
         * Makes the tensors of a batch.
         *
         * @param environment of this process, for the tensors
         * @param rows the rows, at least one
         * @return the tensors by the names of the model's inputs, new ones for each batch: they are closed after the
         *     run
         * @throws OrtException if a tensor cannot be made; the task fails
         */
        Map<String, OnnxTensor> of(OrtEnvironment environment, List<T> rows) throws OrtException;
    }

    /**
     * Reads the results of a run.
     *
     * @param <R> type of the results
     */
    @FunctionalInterface
    public interface Outputs<R> extends Serializable {
        /**
         * Copies the results of a batch out of its tensors.
         *
         * @param result the model's outputs; they are closed after this call
         * @return the results, in the order in which the iterator returns them; of any number
         * @throws OrtException if a tensor cannot be read; the task fails
         */
        List<R> of(OrtSession.Result result) throws OrtException;
    }

    private Inference(String model, int batchSize, int threads, Inputs<T> inputs, Outputs<R> outputs) {
        this.model = model;
        this.batchSize = batchSize;
        this.threads = threads;
        this.inputs = inputs;
        this.outputs = outputs;
    }

    /**
     * Makes the function. A run uses the thread of its task alone, as tasks run beside one another already.
     *
     * @param model the name of a file that {@code SparkContext.addFile} was given, or a path on each executor's host
     * @param batchSize the most rows of a run, at least 1
     * @param inputs makes the inputs of a run
     * @param outputs reads its results
     * @param <T> type of the rows
     * @param <R> type of the results
     * @return the function
     * @throws IllegalArgumentException if the batch size is less than 1
     */
    public static <T, R> Inference<T, R> of(String model, int batchSize, Inputs<T> inputs, Outputs<R> outputs) {
        if (batchSize < 1) {
            throw new IllegalArgumentException("a batch of " + batchSize + " rows; it must have at least 1");
        }
        return new Inference<>(
                Objects.requireNonNull(model, "model"),
                batchSize,
                1,
                Objects.requireNonNull(inputs, "inputs"),
                Objects.requireNonNull(outputs, "outputs"));
    }

    /**
     * {@return the function with more threads for each run: for executors with more processors than tasks} A session of
     * another number of threads is another session, with weights of its own.
     *
     * @param count the threads of a run, at least 1, that of the task included
     * @throws IllegalArgumentException if the count is less than 1
     */
    public Inference<T, R> withThreads(int count) {
        if (count < 1) {
            throw new IllegalArgumentException("a run on " + count + " threads; it needs at least 1");
        }
        return new Inference<>(model, batchSize, count, inputs, outputs);
    }

    /**
     * Runs the model over rows, on the thread of a task.
     *
     * @param rows the rows
     * @return the results; reading them throws an {@link OutOfMemoryException} if a run lacks memory, and an
     *     {@link IllegalStateException} if ONNX Runtime fails otherwise, if an input is closed, or after a failure,
     *     since the rows of that run have no results
     * @throws IllegalStateException as {@link TaskMemory#current}, or if ONNX Runtime cannot load the model
     * @throws IllegalArgumentException if there is no such file
     * @throws OutOfMemoryException if there is no room for the weights
     */
    @Override
    public Iterator<R> call(Iterator<T> rows) {
        TaskMemory.current();
        final InferenceSessions.Model key = new InferenceSessions.Model(model, threads);
        try {
            return new Results(ExecutorSide.memory().sessions().of(key), rows);
        } catch (OrtException e) {
            throw explained("cannot load " + model, e);
        }
    }

    private static RuntimeException explained(String what, OrtException failure) {
        return failure.getCause() instanceof OutOfMemoryException shortage
                ? shortage
                : new IllegalStateException(what + ": " + failure.getMessage(), failure);
    }

    /** The results of a partition. */
    private final class Results implements Iterator<R> {
        private final OrtEnvironment environment = OrtEnvironment.getEnvironment();
        private final AllocatorSession session;
        private final Iterator<T> rows;
        private Iterator<R> batch = List.<R>of().iterator();
        private boolean hasFailed;

        Results(AllocatorSession session, Iterator<T> rows) {
            this.session = session;
            this.rows = rows;
        }

        @Override
        public boolean hasNext() {
            if (hasFailed) {
                throw new IllegalStateException("an earlier run of " + model + " failed; its rows have no results");
            }
            boolean isRead = false;
            try {
                while (!batch.hasNext() && rows.hasNext()) {
                    batch = nextBatch();
                }
                isRead = true;
            } finally {
                hasFailed = !isRead;
            }
            return batch.hasNext();
        }

        @Override
        public R next() {
            if (!hasNext()) {
                throw new NoSuchElementException("no rows are left");
            }
            return batch.next();
        }

        private Iterator<R> nextBatch() {
            final List<T> next = new ArrayList<>(Math.min(batchSize, 1024));
            while (next.size() < batchSize && rows.hasNext()) {
                next.add(rows.next());
            }
            try {
                final Map<String, OnnxTensor> tensors = Objects.requireNonNull(
                        inputs.of(environment, next), "the function of the inputs returned null");
                try (OrtSession.Result result = session.run(tensors)) {
                    return Objects.requireNonNull(outputs.of(result), "the function of the outputs returned null")
                            .iterator();
                } finally {
                    tensors.values().stream()
                            .filter(tensor -> tensor != null && !tensor.isClosed())
                            .forEach(OnnxTensor::close);
                }
            } catch (OrtException e) {
                throw explained("cannot run " + model, e);
            }
        }
    }
}
