package allocator.runtime.metrics;

/** An observation that goes on until it is closed, or the environment is. */
public interface Observation extends AutoCloseable {
    /** Ends the observation: the listener gets a last call for each instance. A second call does nothing. */
    @Override
    void close();
}
