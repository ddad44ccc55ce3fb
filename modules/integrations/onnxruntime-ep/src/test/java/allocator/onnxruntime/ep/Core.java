package allocator.onnxruntime.ep;

import ai.onnxruntime.OrtException;
import java.util.Map;
import java.util.Set;

/** A core that hosts a provider: ONNX Runtime's, or this project's runtime. Sessions have names. */
interface Core extends AutoCloseable {
    /** What a session is opened with. */
    enum Feature {
        /** It uses the allocator that the environment shares. */
        SHARED,
        /** Its model has a weight. */
        WEIGHT,
        /** ONNX Runtime plans the memory of a run from that of an earlier one. */
        PATTERNS
    }

    /** Registers the provider. */
    void register() throws OrtException;

    /** Opens a session with settings of the provider's memory. */
    void open(String session, Map<String, String> options, Set<Feature> features) throws OrtException;

    /** Runs a session on inputs of so many rows, and shrinks its arena at the end if asked to. */
    void run(String session, int rows, boolean shrinks) throws OrtException;

    /** Replaces the allocator that the environment shares. */
    void replace(Map<String, String> options) throws OrtException;

    /** Closes a session. */
    void close(String session) throws OrtException;

    /** Opens a stream of the device. */
    void openStream(String stream) throws OrtException;

    /** Allocates from the allocator that the environment shares, on a stream, and frees. */
    void allocate(String stream, int byteSize) throws OrtException;

    /** Closes a stream. */
    void closeStream(String stream) throws OrtException;

    /** Unregisters the provider. */
    void unregister() throws OrtException;

    @Override
    void close() throws OrtException;
}
