package ai.onnxruntime;

import allocator.runtime.Session;

/** Stands for the class of ONNX Runtime's binding from which native code allocates. */
public final class OrtSession {
    private OrtSession() {}

    /** Allocates, as a run does. */
    public static long run(Session session) {
        return session.allocator().alloc(1000);
    }
}
