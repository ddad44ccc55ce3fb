package allocator.onnxruntime;

import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtSession;
import ai.onnxruntime.OrtSession.SessionOptions;
import allocator.spi.Allocator;

/** Installs allocators and opens sessions of the test model on them, with one thread each. */
final class Sessions {
    static final String MODEL = "tiny_bert.onnx";

    private Sessions() {}

    static OnnxRuntimeAllocators install(Allocator allocator) {
        return OnnxRuntimeAllocators.on(OrtEnvironment.getEnvironment())
                .allocator(allocator)
                .install();
    }

    static AllocatorSession open(OnnxRuntimeAllocators memory, SessionSettings settings) throws OrtException {
        try (SessionOptions options = new SessionOptions()) {
            options.setIntraOpNumThreads(1);
            return memory.openSession(Models.TINY_BERT, MODEL, options, settings);
        }
    }

    static AllocatorSession open(OnnxRuntimeAllocators memory) throws OrtException {
        return open(memory, SessionSettings.DEFAULT);
    }

    /** Opens a session that is not known to the installation. */
    static OrtSession openPlain(boolean useEnvironmentAllocators) throws OrtException {
        try (SessionOptions options = new SessionOptions()) {
            options.setIntraOpNumThreads(1);
            options.addConfigEntry(NativeEnvironment.USE_ENV_ALLOCATORS, useEnvironmentAllocators ? "1" : "0");
            return OrtEnvironment.getEnvironment().createSession(Models.TINY_BERT, options);
        }
    }
}
