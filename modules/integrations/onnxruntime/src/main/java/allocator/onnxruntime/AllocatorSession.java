package allocator.onnxruntime;

import ai.onnxruntime.OnnxTensorLike;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtSession;
import allocator.spi.AllocatorStats;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * A session of ONNX Runtime whose memory comes from an allocator of this project: the {@link OrtSession}, with its
 * budget, statistics and failures.
 *
 * <p>{@link #run(Map)} is that of the {@link OrtSession}, except that after a failed allocation ONNX Runtime's
 * exception has the allocator's {@link allocator.spi.OutOfMemoryException} as its cause. The session remains usable.
 */
public final class AllocatorSession implements AutoCloseable {
    private final OrtSession session;
    private final ExportedAllocator memory;

    AllocatorSession(OrtSession session, ExportedAllocator memory) {
        this.session = session;
        this.memory = memory;
    }

    /**
     * Returns ONNX Runtime's session. Close this object rather than that one.
     *
     * @return the session
     */
    public OrtSession session() {
        return session;
    }

    /**
     * Returns the session's name.
     *
     * @return the name given when it was opened, or the model's
     */
    public String name() {
        return memory.session();
    }

    /**
     * Runs the model for all its outputs.
     *
     * @param inputs the inputs by name
     * @return the outputs, to be closed by the caller
     * @throws OrtException if ONNX Runtime fails; if an allocation failed, the cause is its exception
     */
    public OrtSession.Result run(Map<String, ? extends OnnxTensorLike> inputs) throws OrtException {
        try {
            return session.run(inputs);
        } catch (OrtException e) {
            throw memory.failures().explain(e);
        }
    }

    /**
     * Runs the model for some of its outputs, with options.
     *
     * @param inputs the inputs by name
     * @param outputs the names of the outputs
     * @param options the options
     * @return the outputs, to be closed by the caller
     * @throws OrtException as {@link #run(Map)}
     */
    public OrtSession.Result run(
            Map<String, ? extends OnnxTensorLike> inputs, Set<String> outputs, OrtSession.RunOptions options)
            throws OrtException {
        try {
            return session.run(inputs, outputs, options);
        } catch (OrtException e) {
            throw memory.failures().explain(e);
        }
    }

    /**
     * Returns and removes the oldest failed allocation of the current thread, or else the oldest of all.
     * {@link #run(Map)} removes the failure that it throws. The latest 64 failures are stored.
     *
     * @return the failure, or empty if there is none
     */
    public Optional<AllocationFailure> takeFailure() {
        return memory.failures().take();
    }

    /**
     * Returns the newest failed allocation, whether or not it was taken. Its dump explains a run that ran out of
     * memory.
     *
     * @return the failure, or empty if there was none
     */
    public Optional<AllocationFailure> lastFailure() {
        return memory.failures().last();
    }

    /**
     * Returns what the session has allocated, in requested bytes; {@code limit} is its budget.
     *
     * @return the statistics
     */
    public AllocatorStats stats() {
        return memory.stats();
    }

    /**
     * Sets the most that the session may have in use from now on, in requested bytes. Live blocks stay valid; below
     * what is in use, every allocation fails until enough is freed.
     *
     * @param bytes the budget, {@link AllocatorStats#UNLIMITED} for none
     */
    public void setBudget(long bytes) {
        memory.budget().setLimit(bytes);
    }

    /**
     * Returns how many blocks ONNX Runtime holds for this session.
     *
     * @return the number of live blocks
     */
    public int liveBlocks() {
        return memory.liveBlocks();
    }

    /**
     * Closes the session. Its results and tensors stay valid; until they are closed too, the
     * {@link OnnxRuntimeAllocators} cannot be closed. A second call does nothing.
     *
     * @throws OrtException if ONNX Runtime fails
     */
    @Override
    public void close() throws OrtException {
        if (isOpen()) {
            session.close();
        }
    }

    /** Returns whether the session is open; the caller may have closed the {@link OrtSession} itself. */
    boolean isOpen() {
        try {
            return session.getNumInputs() >= 0;
        } catch (IllegalStateException e) {
            return false;
        }
    }

    /** Ends the export of its memory if the session is closed and no block is live. Returns whether it did. */
    boolean closeIfUnused() {
        if (isOpen() || liveBlocks() > 0) {
            return false;
        }
        memory.close();
        return true;
    }

    ExportedAllocator memory() {
        return memory;
    }
}
