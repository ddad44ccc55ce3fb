package allocator.onnxruntime;

/** Keys of ONNX Runtime's session configuration. */
final class SessionConfig {
    /** {@code 1}: the session takes the environment's allocators instead of making its own. */
    static final String USE_ENV_ALLOCATORS = "session.use_env_allocators";

    private SessionConfig() {}
}
