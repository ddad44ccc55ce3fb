package allocator.cuda.driver;

/** Streams, the queues in which a device does its work, and events, which order them. */
public interface CudaStreams {
    /**
     * Creates a stream that does not wait for the default stream.
     *
     * @param device device ordinal
     * @return the stream
     */
    long streamCreate(int device);

    /**
     * Destroys a stream. Does not wait; what is queued is still done.
     *
     * @param device device ordinal
     * @param stream the stream, not {@code 0}
     */
    void streamDestroy(int device, long stream);

    /**
     * Waits until a stream has done all its work.
     *
     * @param device device ordinal
     * @param stream the stream
     * @throws CudaException if the device or an earlier asynchronous operation failed
     */
    void streamSynchronize(int device, long stream);

    /**
     * Returns whether a stream has done all its work, without waiting.
     *
     * @param device device ordinal
     * @param stream the stream
     * @return true if it is idle
     * @throws CudaException if the device or an earlier asynchronous operation failed
     */
    boolean streamQuery(int device, long stream);

    /**
     * Returns a stream's identity, which is never given to another stream, unlike its handle.
     *
     * @param device device ordinal
     * @param stream the stream
     * @return the identity
     */
    long streamGetId(int device, long stream);

    /**
     * Lets a stream's later work wait for an event, as it was last recorded before this call; the host does not wait.
     *
     * @param device device ordinal of the stream
     * @param stream the stream
     * @param event the event; may belong to another device
     */
    void streamWaitEvent(int device, long stream, long event);

    /**
     * Calls a function on the host when the stream comes to it; later work of the stream waits until it returns.
     *
     * <p>The function runs on a thread of the driver and must not call the driver. What it throws is logged.
     *
     * @param device device ordinal
     * @param stream the stream
     * @param function what to call, once
     */
    void launchHostFunction(int device, long stream, Runnable function);

    /**
     * Creates an event that records no time.
     *
     * @param device device ordinal
     * @return the event
     */
    long eventCreate(int device);

    /**
     * Destroys an event; it may still be recorded or waited for.
     *
     * @param device device ordinal
     * @param event the event
     */
    void eventDestroy(int device, long event);

    /**
     * Records in an event what a stream has been given to do so far.
     *
     * @param device device ordinal of event and stream
     * @param event the event
     * @param stream the stream
     */
    void eventRecord(int device, long event, long stream);

    /**
     * Returns whether all that an event recorded is done, without waiting.
     *
     * @param device device ordinal
     * @param event the event
     * @return true if it is done, or if nothing was ever recorded
     * @throws CudaException if the device or an earlier asynchronous operation failed
     */
    boolean eventQuery(int device, long event);

    /**
     * Waits until all that an event recorded is done.
     *
     * @param device device ordinal
     * @param event the event
     * @throws CudaException if the device or an earlier asynchronous operation failed
     */
    void eventSynchronize(int device, long event);
}
