package allocator.onnxruntime.ep;

import ai.onnxruntime.OrtException;
import java.util.Map;

/** A core that hosts a provider: ONNX Runtime's, or this project's runtime. Sessions have names. */
interface Core extends AutoCloseable {
    /** Registers the provider. */
    void register() throws OrtException;

    /** Opens a session with settings of the provider's memory, or on the allocator that the environment shares. */
    void open(String session, Map<String, String> options, boolean isShared) throws OrtException;

    /** Runs a session on inputs of so many rows, and shrinks its arena at the end if asked to. */
    void run(String session, int rows, boolean shrinks) throws OrtException;

    /** Replaces the allocator that the environment shares. */
    void replace(Map<String, String> options) throws OrtException;

    /** Closes a session. */
    void close(String session) throws OrtException;

    /** Unregisters the provider. */
    void unregister() throws OrtException;

    @Override
    void close() throws OrtException;
}
