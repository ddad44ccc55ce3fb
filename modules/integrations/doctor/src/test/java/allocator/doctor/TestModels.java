package allocator.doctor;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.zip.GZIPInputStream;

/** Models of this project. */
final class TestModels {
    private TestModels() {}

    private static Path root() {
        Path folder = Path.of("").toAbsolutePath();
        while (Files.notExists(folder.resolve("allocator"))) {
            folder = folder.getParent();
        }
        return folder;
    }

    /** The similarity of {@code rows[n, 16]}: {@code float[n, n]}. */
    static Path similarity() {
        return root().resolve("docs/samples/onnxruntime/similarity.onnx");
    }

    /** A small BERT, of {@code input_ids} and {@code attention_mask}, both {@code [batch, seq]}. */
    static Path bert(Path folder) throws IOException {
        final Path model = folder.resolve("tiny_bert.onnx");
        final Path packed =
                root().resolve("modules/integrations/onnxruntime/src/test/resources/models/tiny_bert.onnx.gz");
        try (InputStream in = new GZIPInputStream(Files.newInputStream(packed))) {
            Files.copy(in, model);
        }
        return model;
    }
}
