package allocator.onnxruntime.support;

import ai.onnxruntime.OrtEnvironment;
import allocator.onnxruntime.OnnxRuntimeException;
import allocator.onnxruntime.support.OrtApi.Function;
import java.lang.foreign.Arena;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * A reference to ONNX Runtime's environment, of which a process has one.
 *
 * <p>ONNX Runtime counts the users of its environment. The reference taken here is never released, so that the
 * environment outlives everything that Java code may close.
 */
public final class EnvironmentReference {
    private static final String LOGGER_NAME = "java.allocator";
    private static final int WARNING = 2;
    private static final long STACK_BYTES = 64L << 20;

    private EnvironmentReference() {}

    private static final class Holder {
        static final long HANDLE = take(OrtLibrary.api());
    }

    /**
     * Returns the {@code OrtEnv} of this process, which is created if there is none.
     *
     * @throws OnnxRuntimeException if ONNX Runtime cannot be loaded, or its version is not known
     */
    public static long handle() {
        OrtLibrary.api();
        return Holder.HANDLE;
    }

    private static long take(OrtApi api) {
        // If there is none yet, the binding creates the environment, with the settings of its user if there are any.
        onRoomyThread(OrtEnvironment::getEnvironment);
        try (Arena scratch = Arena.ofConfined()) {
            return api.create(
                    Function.CREATE_ENV,
                    WARNING,
                    scratch.allocateFrom(LOGGER_NAME).address());
        }
    }

    /**
     * ONNX Runtime 1.29 puts the command line through a regular expression when it makes its environment, and that
     * takes some frames of stack for each character: on a usual thread four thousand of them end the process.
     */
    private static void onRoomyThread(Runnable work) {
        final AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();
        final Runnable caught = () -> {
            try {
                work.run();
            } catch (Throwable e) {
                failure.set(e);
            }
        };
        final Thread thread = new Thread(null, caught, "onnxruntime-environment", STACK_BYTES);
        thread.setDaemon(true);
        thread.start();
        boolean isInterrupted = false;
        while (thread.isAlive()) {
            try {
                thread.join();
            } catch (InterruptedException e) {
                isInterrupted = true;
            }
        }
        if (isInterrupted) {
            Thread.currentThread().interrupt();
        }
        final Throwable thrown = failure.get();
        if (thrown != null) {
            throw new OnnxRuntimeException(
                    "ONNX Runtime has no environment: " + thrown, OnnxRuntimeException.NO_CODE, thrown);
        }
    }
}
