package allocator.langchain4j;

import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import allocator.onnxruntime.AllocatorSession;
import allocator.onnxruntime.OnnxRuntimeAllocators;
import dev.langchain4j.model.embedding.EmbeddingModel;
import java.io.InputStream;
import java.nio.file.Path;

/** The sample of the page on embeddings. */
final class EmbeddingsExample {
    private EmbeddingsExample() {}

    static void run(Path model, InputStream tokenizer) throws OrtException {
        try (OnnxRuntimeAllocators memory = OnnxRuntimeAllocators.on(OrtEnvironment.getEnvironment())
                        .provider("cpu-reference")
                        .option("arena.max_mem", "67108864")
                        .option("arena.keep_first_region", "0")
                        .install();
                AllocatorSession session = memory.openSession(model)) {
            final EmbeddingModel embeddings = new AllocatedEmbeddingModel(session, tokenizer);
            System.out.println(embeddings.embed("arenas hold memory").content().dimension() + " dimensions");
            System.out.println("held at most " + memory.stats().peakBytesHeld() + " bytes, "
                    + session.stats().bytesInUse() + " in use now");
            System.out.println(memory.shrink());
        }
    }
}
