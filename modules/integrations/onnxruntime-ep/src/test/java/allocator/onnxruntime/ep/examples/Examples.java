package allocator.onnxruntime.ep.examples;

import ai.onnxruntime.OnnxTensor;
import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtSession;
import ai.onnxruntime.OrtSession.SessionOptions;
import allocator.onnxruntime.ep.PluginLibrary;
import allocator.spi.EpFactory;
import java.util.Arrays;
import java.util.Map;

/** Examples of {@link PluginLibrary}. */
public final class Examples {
    private Examples() {}

    /** The sample of the module's page: a session whose nodes run in Java, in the memory of a Java provider. */
    public static void tour(EpFactory provider, byte[] model, Map<String, OnnxTensor> inputs) throws OrtException {
        final OrtEnvironment environment = OrtEnvironment.getEnvironment();
        try (PluginLibrary library = PluginLibrary.on(environment)
                        .provider(provider)
                        .option("ep_factory.cpu-reference.arena.max_mem", "67108864")
                        .runNodes()
                        .register();
                SessionOptions options = new SessionOptions()) {
            System.out.println(library.devices().getFirst().getEpName() + " is a device of ONNX Runtime");
            options.addExecutionProvider(library.devices(), Map.of("arena.initial_chunk_size_bytes", "65536"));
            try (OrtSession session = environment.createSession(model, options);
                    OrtSession.Result result = session.run(inputs)) {
                System.out.println(Arrays.deepToString((float[][]) result.get(0).getValue()));
            }
        }
    }
}
