package allocator.onnxruntime;

import ai.onnxruntime.OnnxTensor;
import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtSession;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.FloatBuffer;
import java.nio.LongBuffer;
import java.util.Arrays;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.zip.GZIPInputStream;

/** The model that the tests run. */
final class Models {
    static final byte[] TINY_BERT = read("/models/tiny_bert.onnx.gz");

    private Models() {}

    private static byte[] read(String resource) {
        try (InputStream file = Objects.requireNonNull(Models.class.getResourceAsStream(resource), resource);
                InputStream bytes = new GZIPInputStream(file)) {
            return bytes.readAllBytes();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The inputs for a batch of sentences, the same for the same seed. The caller closes them. */
    static Map<String, OnnxTensor> inputs(int batch, int length, long seed) throws OrtException {
        final OrtEnvironment environment = OrtEnvironment.getEnvironment();
        final long[] shape = {batch, length};
        final long[] ids = new Random(seed).longs((long) batch * length, 1, 100).toArray();
        final long[] mask = new long[ids.length];
        Arrays.fill(mask, 1);
        return Map.of(
                "input_ids", OnnxTensor.createTensor(environment, LongBuffer.wrap(ids), shape),
                "attention_mask", OnnxTensor.createTensor(environment, LongBuffer.wrap(mask), shape));
    }

    /** A run of a session. */
    interface Runner {
        OrtSession.Result run(Map<String, OnnxTensor> inputs) throws OrtException;
    }

    /** Runs the model once and returns the bits of its first output. */
    static int[] run(Runner session, int batch, int length, long seed) throws OrtException {
        final Map<String, OnnxTensor> inputs = inputs(batch, length, seed);
        try (OrtSession.Result result = session.run(inputs)) {
            final FloatBuffer values = ((OnnxTensor) result.get(0)).getFloatBuffer();
            final int[] bits = new int[values.remaining()];
            for (int i = 0; i < bits.length; i++) {
                bits[i] = Float.floatToRawIntBits(values.get());
            }
            return bits;
        } finally {
            inputs.values().forEach(OnnxTensor::close);
        }
    }
}
