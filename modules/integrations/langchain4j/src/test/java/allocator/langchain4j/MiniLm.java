package allocator.langchain4j;

import dev.langchain4j.model.embedding.onnx.allminilml6v2q.AllMiniLmL6V2QuantizedEmbeddingModel;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Objects;

/** The files of the published model: quantized all-MiniLM-L6-v2, Apache-2.0, 23 MB. */
final class MiniLm {
    private static final String NAME = "/all-minilm-l6-v2-q";

    private MiniLm() {}

    static InputStream tokenizer() {
        return resource("-tokenizer.json");
    }

    /** Copies the model out of its jar. */
    static Path modelIn(Path folder) throws IOException {
        final Path model = folder.resolve("all-minilm-l6-v2-q.onnx");
        try (InputStream bytes = resource(".onnx")) {
            Files.copy(bytes, model);
        }
        return model;
    }

    private static InputStream resource(String ending) {
        return Objects.requireNonNull(
                AllMiniLmL6V2QuantizedEmbeddingModel.class.getResourceAsStream(NAME + ending), NAME + ending);
    }
}
