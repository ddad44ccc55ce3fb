package com.example.onnx;

import ai.onnxruntime.OnnxTensor;
import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtSession;
import allocator.onnxruntime.AllocatorSession;
import allocator.onnxruntime.OnnxRuntimeAllocators;
import allocator.spi.OutOfMemoryException;
import java.nio.LongBuffer;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;

/** Runs a model of sentences in at most 64 MiB. */
public final class Limited {
    private Limited() {}

    /**
     * Runs it.
     *
     * @param arguments the file of the model
     */
    public static void main(String[] arguments) throws OrtException {
        final OrtEnvironment environment = OrtEnvironment.getEnvironment();
        try (OnnxRuntimeAllocators memory = OnnxRuntimeAllocators.on(environment)
                        .provider("cpu-reference")
                        .option("arena.max_mem", "67108864")
                        .install();
                AllocatorSession session = memory.openSession(Path.of(arguments[0]))) {
            try {
                run(environment, session, 64, 512);
                System.out.println("no limit");
            } catch (OrtException e) {
                System.out.println("limited: " + (e.getCause() instanceof OutOfMemoryException));
            }
            run(environment, session, 4, 128);
            System.out.println("runs, and held at most " + memory.stats().peakBytesHeld() + " bytes");
        }
    }

    private static void run(OrtEnvironment environment, AllocatorSession session, int sentences, int words)
            throws OrtException {
        final long[] shape = {sentences, words};
        final long[] ones = new long[sentences * words];
        Arrays.fill(ones, 1);
        try (OnnxTensor ids = OnnxTensor.createTensor(environment, LongBuffer.wrap(ones), shape);
                OnnxTensor mask = OnnxTensor.createTensor(environment, LongBuffer.wrap(ones), shape);
                OrtSession.Result result = session.run(Map.of("input_ids", ids, "attention_mask", mask))) {
            System.out.println(result.size() + " outputs");
        }
    }
}
