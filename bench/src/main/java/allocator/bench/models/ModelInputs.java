package allocator.bench.models;

import ai.onnxruntime.OnnxJavaType;
import ai.onnxruntime.OnnxTensor;
import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtSession;
import ai.onnxruntime.TensorInfo;
import java.nio.FloatBuffer;
import java.nio.LongBuffer;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;

/** Inputs of zeros and ones, with the free dimensions filled in. */
final class ModelInputs {
    private ModelInputs() {}

    /** Makes the inputs of a model, with the first dimension and the others where free. The caller closes them. */
    static Map<String, OnnxTensor> of(OrtSession session, int batch, int size) throws OrtException {
        final OrtEnvironment environment = OrtEnvironment.getEnvironment();
        final Map<String, OnnxTensor> inputs = new HashMap<>();
        for (final var input : session.getInputInfo().entrySet()) {
            final TensorInfo info = (TensorInfo) input.getValue().getInfo();
            final long[] shape = info.getShape().clone();
            int count = 1;
            for (int i = 0; i < shape.length; i++) {
                shape[i] = shape[i] >= 0 ? shape[i] : i == 0 ? batch : size;
                count = Math.multiplyExact(count, Math.toIntExact(shape[i]));
            }
            if (info.type == OnnxJavaType.FLOAT) {
                inputs.put(input.getKey(), OnnxTensor.createTensor(environment, FloatBuffer.allocate(count), shape));
            } else {
                final long[] ones = new long[count];
                Arrays.fill(ones, 1);
                inputs.put(input.getKey(), OnnxTensor.createTensor(environment, LongBuffer.wrap(ones), shape));
            }
        }
        return inputs;
    }
}
