package allocator.onnxruntime.ep;

import allocator.onnxruntime.OnnxRuntimeException;
import allocator.onnxruntime.ep.abi.EpApi;
import allocator.onnxruntime.ep.abi.EpFunction;
import allocator.onnxruntime.ep.abi.Guard;
import allocator.onnxruntime.ep.host.HostedFactory;
import allocator.onnxruntime.ep.host.LibraryEntry;
import allocator.onnxruntime.ep.library.LibraryFile;
import allocator.onnxruntime.support.EnvironmentReference;
import java.lang.foreign.Arena;
import java.util.List;

/** A shared library that ONNX Runtime has loaded, under a name. */
record Registration(String name, LibraryFile file) {
    /**
     * Writes a library and makes ONNX Runtime load it. If it throws, there is no library.
     *
     * @param name the name of the registration
     * @param factories the providers
     * @param failures receives failures of callbacks
     * @throws OnnxRuntimeException if the library cannot be written or loaded, or ONNX Runtime rejects it; the cause is
     *     the exception of the provider, if one threw
     */
    static Registration of(String name, List<HostedFactory> factories, CallbackFailures failures) {
        Guard.fillSpares();
        final long environment = EnvironmentReference.handle();
        final LibraryFile file = LibraryFile.load(LibraryEntry.CREATE, LibraryEntry.RELEASE);
        boolean isRegistered = false;
        try (Arena scratch = Arena.ofConfined()) {
            LibraryEntry.register(
                    name,
                    factories,
                    failures.of(name),
                    () -> EpApi.get()
                            .call(
                                    EpFunction.REGISTER_EXECUTION_PROVIDER_LIBRARY,
                                    environment,
                                    scratch.allocateFrom(name).address(),
                                    scratch.allocateFrom(file.path().toString()).address()));
            isRegistered = true;
            file.delete();
            return new Registration(name, file);
        } catch (OnnxRuntimeException e) {
            throw explained(e, failures);
        } finally {
            if (!isRegistered) {
                file.close();
            }
        }
    }

    private static OnnxRuntimeException explained(OnnxRuntimeException e, CallbackFailures failures) {
        final String message = String.valueOf(e.getMessage());
        return failures.behind(message)
                .map(failure -> new OnnxRuntimeException(message, e.code(), failure.cause()))
                .orElse(e);
    }

    /**
     * Makes ONNX Runtime unload the library.
     *
     * @throws OnnxRuntimeException if it does not know it
     */
    void unregister() {
        try (Arena scratch = Arena.ofConfined()) {
            EpApi.get()
                    .call(
                            EpFunction.UNREGISTER_EXECUTION_PROVIDER_LIBRARY,
                            EnvironmentReference.handle(),
                            scratch.allocateFrom(name).address());
        }
    }

    /** Unloads this process's own copy. For one call, after ONNX Runtime has unloaded the library. */
    void close() {
        file.close();
    }
}
