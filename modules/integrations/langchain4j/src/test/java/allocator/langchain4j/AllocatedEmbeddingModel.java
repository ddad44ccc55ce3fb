package allocator.langchain4j;

import ai.onnxruntime.OrtEnvironment;
import allocator.onnxruntime.AllocatorSession;
import dev.langchain4j.model.embedding.onnx.AbstractInProcessEmbeddingModel;
import dev.langchain4j.model.embedding.onnx.OnnxBertBiEncoder;
import dev.langchain4j.model.embedding.onnx.PoolingMode;
import java.io.InputStream;

/** An embedding model of LangChain4j on a session whose memory is ours. The caller closes the session after it. */
final class AllocatedEmbeddingModel extends AbstractInProcessEmbeddingModel {
    private final OnnxBertBiEncoder encoder;

    AllocatedEmbeddingModel(AllocatorSession session, InputStream tokenizer) {
        super(Runnable::run);
        encoder =
                new OnnxBertBiEncoder(OrtEnvironment.getEnvironment(), session.session(), tokenizer, PoolingMode.MEAN);
    }

    @Override
    protected OnnxBertBiEncoder model() {
        return encoder;
    }
}
