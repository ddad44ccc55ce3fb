package allocator.spark;

import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtSession.SessionOptions;
import allocator.onnxruntime.AllocatorSession;
import allocator.onnxruntime.OnnxRuntimeAllocators;
import allocator.onnxruntime.SessionSettings;
import allocator.provider.support.budget.Budget;
import allocator.provider.support.internal.Failures;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.SparkFiles;
import org.jspecify.annotations.Nullable;

/**
 * The sessions of ONNX Runtime of an executor: one for each model, opened by the first task that needs it and shared by
 * all. A model's weights are charged to the executor, what a run allocates to the task that runs it.
 */
final class InferenceSessions implements AutoCloseable {
    /** What a session is of. */
    record Model(String file, int threads) {}

    private final ExecutorMemory executor;
    private final ChargedAllocator allocator;

    // Guarded by this
    private final Map<Model, AllocatorSession> sessions = new HashMap<>();
    private @Nullable OnnxRuntimeAllocators installed;

    /** The thread that opens a session. */
    private volatile @Nullable Thread opener;

    InferenceSessions(ExecutorMemory executor) {
        this.executor = executor;
        allocator = new ChargedAllocator.OfHost(executor.host(), this::ofCaller);
    }

    @SuppressWarnings("ReferenceEquality") // a thread is itself
    private Budget ofCaller() {
        return Thread.currentThread() == opener ? executor.host().budget() : executor.ofCaller();
    }

    /**
     * Returns the session of a model, which is opened if there is none.
     *
     * @throws OrtException if ONNX Runtime cannot load it; if memory ran out, the cause is its exception
     */
    synchronized AllocatorSession of(Model model) throws OrtException {
        AllocatorSession session = sessions.get(model);
        if (session == null) {
            opener = Thread.currentThread();
            try {
                session = open(model);
            } finally {
                opener = null;
            }
            sessions.put(model, session);
        }
        return session;
    }

    private AllocatorSession open(Model model) throws OrtException {
        final Path file = file(model.file());
        try (SessionOptions options = new SessionOptions()) {
            options.setIntraOpNumThreads(model.threads());
            options.setInterOpNumThreads(1);
            return installed().openSession(file, options, SessionSettings.DEFAULT);
        }
    }

    private OnnxRuntimeAllocators installed() {
        OnnxRuntimeAllocators made = installed;
        if (made == null) {
            made = OnnxRuntimeAllocators.onEnvironment().allocator(allocator).install();
            installed = made;
        }
        return made;
    }

    /** Returns a file that the application added to Spark, or one of the executor's host. */
    private static Path file(String name) {
        final Path added = Path.of(SparkFiles.get(name));
        final Path file = Files.exists(added) ? added : Path.of(name);
        if (!Files.isRegularFile(file)) {
            throw new IllegalArgumentException("there is no model " + name
                    + ": it is neither a file that SparkContext.addFile was given nor a path on this host");
        }
        return file;
    }

    /**
     * Closes the sessions and takes the allocators from ONNX Runtime.
     *
     * @throws IllegalStateException if a run is under way, or a result not closed
     */
    @Override
    public synchronized void close() {
        final Failures failures = new Failures();
        for (final AllocatorSession session : sessions.values()) {
            try {
                session.close();
            } catch (OrtException | RuntimeException e) {
                failures.add(e);
            }
        }
        if (installed != null) {
            failures.run(installed::close);
        }
        failures.throwIfAny();
    }
}
