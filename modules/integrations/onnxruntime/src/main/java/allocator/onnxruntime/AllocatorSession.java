package allocator.onnxruntime;

import ai.onnxruntime.OnnxTensorLike;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtSession;
import allocator.spi.AllocatorStats;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * A session of ONNX Runtime whose memory comes from an allocator of this project: the {@link OrtSession} itself, and
 * what is to be known and set about its memory.
 *
 * <p>{@link #run(Map)} is the session's own, but where memory was refused, ONNX Runtime's exception has the allocator's
 * {@link allocator.spi.OutOfMemoryException} as its cause. The session still works then.
 */
public final class AllocatorSession implements AutoCloseable {
    private final OrtSession session;
    private final ExportedAllocator memory;

    AllocatorSession(OrtSession session, ExportedAllocator memory) {
        this.session = session;
        this.memory = memory;
    }

    /**
     * The session, for everything that is not about memory. Close this object rather than that one.
     *
     * @return the session
     */
    public OrtSession session() {
        return session;
    }

    /**
     * The session's name.
     *
     * @return as given when it was opened, or the model's
     */
    public String name() {
        return memory.session();
    }

    /**
     * Runs the model for all its outputs.
     *
     * @param inputs the inputs by name
     * @return the outputs, to be closed by the caller
     * @throws OrtException if ONNX Runtime fails; if that is for lack of memory, the cause says so
     */
    public OrtSession.Result run(Map<String, ? extends OnnxTensorLike> inputs) throws OrtException {
        try {
            return session.run(inputs);
        } catch (OrtException e) {
            throw explained(e);
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
            throw explained(e);
        }
    }

    private OrtException explained(OrtException e) {
        return OnnxRuntimeAllocators.explained(e, memory);
    }

    /**
     * The oldest refusal that nobody has fetched yet, of this thread if there is one. {@link #run(Map)} fetches what it
     * throws.
     *
     * @return the refusal, or empty if there is none
     */
    public Optional<AllocationFailure> takeFailure() {
        return memory.takeFailure();
    }

    /**
     * The newest refusal, fetched or not: after a run that failed for lack of memory, what to show to a person.
     *
     * @return the refusal, or empty if there was none
     */
    public Optional<AllocationFailure> lastFailure() {
        return memory.lastFailure();
    }

    /**
     * What the session has of the allocator, in bytes that it asked for; {@code limit} is its budget.
     *
     * @return the statistics
     */
    public AllocatorStats stats() {
        return memory.stats();
    }

    /**
     * Sets the most that the session may have in use from now on. Nothing that it has is taken away.
     *
     * @param bytes the budget, {@link AllocatorStats#UNLIMITED} for none
     */
    public void setBudget(long bytes) {
        memory.budget().setLimit(bytes);
    }

    /**
     * How many blocks ONNX Runtime holds for this session.
     *
     * @return the number of live blocks
     */
    public int liveBlocks() {
        return memory.liveBlocks();
    }

    /**
     * Closes the session. Its results and tensors may live on; until they are closed too, the
     * {@link OnnxRuntimeAllocators} cannot be. A second call does nothing.
     *
     * @throws OrtException if ONNX Runtime fails
     */
    @Override
    public void close() throws OrtException {
        if (isOpen()) {
            session.close();
        }
    }

    /** Whether the session is open; it may have been closed behind our back. */
    boolean isOpen() {
        try {
            return session.getNumInputs() >= 0;
        } catch (IllegalStateException e) {
            return false;
        }
    }

    ExportedAllocator memory() {
        return memory;
    }
}
