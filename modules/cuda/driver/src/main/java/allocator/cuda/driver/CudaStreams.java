package allocator.cuda.driver;

/**
 * Streams, which are queues of device work, and events, which order streams.
 *
 * <p>A stream that is being captured into a graph, and an event recorded on it, cannot be queried or waited for by the
 * host: that invalidates the capture. A query or wait for another stream or event does not, nor do its creation and
 * end: they run in the capture mode {@code CU_STREAM_CAPTURE_MODE_RELAXED}.
 */
public interface CudaStreams {
    /**
     * {@return a new stream that does not wait for the default stream}
     *
     * @param device device ordinal
     */
    long streamCreate(int device);

    /**
     * Destroys a stream. Does not wait; the work already queued on it is still done.
     *
     * @param device device ordinal
     * @param stream the stream, not {@code 0}
     */
    void streamDestroy(int device, long stream);

    /**
     * Waits until a stream has completed all its work.
     *
     * @param device device ordinal
     * @param stream the stream
     * @throws CudaException if the device or an earlier asynchronous operation failed
     */
    void streamSynchronize(int device, long stream);

    /**
     * {@return whether a stream is idle, having completed all its work, without waiting}
     *
     * @param device device ordinal
     * @param stream the stream
     * @throws CudaException if the device or an earlier asynchronous operation failed
     */
    boolean streamQuery(int device, long stream);

    /**
     * {@return a stream's identity} Unlike a handle it is never reused.
     *
     * @param device device ordinal
     * @param stream the stream
     */
    long streamGetId(int device, long stream);

    /**
     * {@return the handle of the context of a stream, also of one that other code created}
     *
     * @param device device ordinal; the stream may belong to another one
     * @param stream the stream
     * @throws CudaException if there is no such stream, as far as the driver knows
     */
    long streamGetCtx(int device, long stream);

    /**
     * Returns whether a stream is being captured into a graph: what is submitted to it is recorded, not done. Of the
     * legacy default stream, whether it cannot be used because of a capture.
     *
     * @param device device ordinal
     * @param stream the stream
     * @return true from the begin of the capture to its end, also if it is invalidated
     */
    boolean streamIsCapturing(int device, long stream);

    /**
     * Begins to capture a stream into a graph, in the mode {@code CU_STREAM_CAPTURE_MODE_GLOBAL}. A stream that waits
     * for an event of a captured one is captured too. A call of {@link CudaDevices#ctxSynchronize} for its device, on
     * whatever thread, fails with {@code CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED} and invalidates the capture.
     *
     * @param device device ordinal
     * @param stream the stream, not the legacy default stream
     */
    void streamBeginCapture(int device, long stream);

    /**
     * Ends a capture.
     *
     * @param device device ordinal
     * @param stream the stream on which the capture began
     * @return the graph, to be destroyed with {@link #graphDestroy}
     * @throws CudaException {@code CUDA_ERROR_STREAM_CAPTURE_INVALIDATED} if a call has invalidated the capture, which
     *     ends nevertheless; {@code CUDA_ERROR_ILLEGAL_STATE} if there is none
     */
    long streamEndCapture(int device, long stream);

    /**
     * Destroys a graph.
     *
     * @param device device ordinal
     * @param graph the graph
     */
    void graphDestroy(int device, long graph);

    /**
     * Makes later work of a stream wait for the last recording of an event before this call. The host does not wait.
     *
     * @param device device ordinal of the stream
     * @param stream the stream
     * @param event the event; may belong to another device
     */
    void streamWaitEvent(int device, long stream, long event);

    /**
     * Calls a function on the host when the stream reaches it. Later work of the stream waits until it returns.
     *
     * <p>The function runs on a thread of the driver and must not call the driver. An exception from it is logged.
     *
     * @param device device ordinal
     * @param stream the stream
     * @param function the function, called once
     */
    void launchHostFunction(int device, long stream, Runnable function);

    /**
     * {@return a new event without timing}
     *
     * @param device device ordinal
     */
    long eventCreate(int device);

    /**
     * Destroys an event. Does not wait; recordings and waits already queued are not affected.
     *
     * @param device device ordinal
     * @param event the event
     */
    void eventDestroy(int device, long event);

    /**
     * Records in an event the work queued on a stream so far.
     *
     * @param device device ordinal of event and stream
     * @param event the event
     * @param stream the stream
     */
    void eventRecord(int device, long event, long stream);

    /**
     * {@return whether the work that an event recorded is complete, or the event was never recorded, without waiting}
     *
     * @param device device ordinal
     * @param event the event
     * @throws CudaException if the device or an earlier asynchronous operation failed
     */
    boolean eventQuery(int device, long event);

    /**
     * Waits until the work that an event recorded is complete.
     *
     * @param device device ordinal
     * @param event the event
     * @throws CudaException if the device or an earlier asynchronous operation failed
     */
    void eventSynchronize(int device, long event);
}
