package allocator.onnxruntime.ep;

import static org.assertj.core.api.Assertions.assertThat;

import ai.onnxruntime.OnnxTensor;
import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import allocator.onnxruntime.ep.examples.Examples;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;

class ExamplesTest {
    private static OnnxTensor row(float... values) throws OrtException {
        return OnnxTensor.createTensor(OrtEnvironment.getEnvironment(), new float[][] {values});
    }

    @Test
    void theModulePageShowsWhatTheTourPrints() throws OrtException, IOException {
        final PrintStream before = System.out;
        final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        System.setOut(new PrintStream(bytes, true, StandardCharsets.UTF_8));
        try (HostProvider provider = new HostProvider();
                OnnxTensor a = row(1, 2, 3);
                OnnxTensor b = row(1, 1, 2);
                OnnxTensor c = OnnxTensor.createTensor(OrtEnvironment.getEnvironment(), new float[] {2, 2, 2})) {
            Examples.tour(provider, ArithmeticModel.bytes(), Map.of("a", a, "b", b, "c", c));
        } finally {
            System.setOut(before);
        }
        final String page =
                Files.readString(Path.of("..", "..", "..", "docs", "modules", "java.allocator.onnxruntime.ep.md"));
        assertThat(page).contains("```\n" + bytes.toString(StandardCharsets.UTF_8) + "```\n");
    }
}
