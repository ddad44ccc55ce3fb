package allocator.spark;

import ai.onnxruntime.OnnxTensor;
import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtSession;
import allocator.spi.HostAccessibleAllocator;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;

/** The samples of docs/spark.md. */
final class SparkExample {
    private static final int COLUMNS = RowModel.COLUMNS;

    private SparkExample() {}

    static JavaRDD<Float> score(JavaSparkContext spark, Path model, JavaRDD<float[]> rows) {
        spark.addFile(model.toString());
        return rows.mapPartitions(Inference.of("rows.onnx", 64, SparkExample::inputs, SparkExample::outputs));
    }

    static Map<String, OnnxTensor> inputs(OrtEnvironment environment, List<float[]> rows) throws OrtException {
        return Map.of("x", OnnxTensor.createTensor(environment, rows.toArray(new float[0][])));
    }

    static List<Float> outputs(OrtSession.Result result) throws OrtException {
        return Arrays.stream((float[][]) result.get(0).getValue())
                .map(row -> row[0])
                .toList();
    }

    static Iterator<Long> checksums(Iterator<float[]> rows) {
        final HostAccessibleAllocator memory = TaskMemory.current().allocator();
        final long byteSize = (long) COLUMNS * Float.BYTES;
        final long block = memory.alloc(byteSize);
        try {
            final MemorySegment segment = memory.segment(block, byteSize);
            return checksums(rows, segment);
        } finally {
            memory.free(block);
        }
    }

    private static Iterator<Long> checksums(Iterator<float[]> rows, MemorySegment segment) {
        final List<Long> sums = new java.util.ArrayList<>();
        while (rows.hasNext()) {
            MemorySegment.copy(MemorySegment.ofArray(rows.next()), 0, segment, 0, segment.byteSize());
            long sum = 0;
            for (long i = 0; i < segment.byteSize(); i++) {
                sum += segment.get(java.lang.foreign.ValueLayout.JAVA_BYTE, i);
            }
            sums.add(sum);
        }
        return sums.iterator();
    }
}
