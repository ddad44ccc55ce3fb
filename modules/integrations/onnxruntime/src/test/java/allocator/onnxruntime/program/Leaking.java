package allocator.onnxruntime.program;

import ai.onnxruntime.OnnxTensor;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtSession;
import allocator.onnxruntime.AllocatorSession;
import allocator.onnxruntime.OnnxRuntimeAllocators;
import allocator.onnxruntime.SessionSettings;
import java.util.Map;

/** A program, in a package of its own: frames of the module's packages count as the module's. */
public final class Leaking {
    private Leaking() {}

    /** Opens a session with one thread. */
    public static AllocatorSession load(OnnxRuntimeAllocators memory, byte[] model, String name) throws OrtException {
        try (OrtSession.SessionOptions options = new OrtSession.SessionOptions()) {
            options.setIntraOpNumThreads(1);
            return memory.openSession(model, name, options, SessionSettings.DEFAULT);
        }
    }

    /** Runs a session and leaves the result open. */
    public static OrtSession.Result predict(AllocatorSession session, Map<String, OnnxTensor> inputs)
            throws OrtException {
        return session.run(inputs);
    }

    /** Runs a session that the installation does not know, and leaves the result open. */
    public static OrtSession.Result predictPlain(OrtSession session, Map<String, OnnxTensor> inputs)
            throws OrtException {
        return session.run(inputs);
    }
}
