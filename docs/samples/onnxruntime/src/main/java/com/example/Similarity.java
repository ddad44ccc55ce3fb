package com.example;

import ai.onnxruntime.OnnxTensor;
import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import allocator.onnxruntime.AllocatorSession;
import allocator.onnxruntime.OnnxRuntimeAllocators;
import java.nio.file.Path;
import java.util.Map;

/** Compares rows with each other in at most 64 MiB of native memory. */
public final class Similarity {
    private Similarity() {}

    /** Runs it. */
    public static void main(String[] args) throws OrtException {
        final OrtEnvironment environment = OrtEnvironment.getEnvironment();
        try (OnnxRuntimeAllocators memory = OnnxRuntimeAllocators.on(environment)
                        .provider("cpu-reference")
                        .option("arena.max_mem", "67108864")
                        .install();
                AllocatorSession session = memory.openSession(Path.of("similarity.onnx"))) {
            run(environment, session, 1_000);
            try {
                run(environment, session, 10_000);
            } catch (OrtException e) {
                System.out.println(e.getCause().getMessage());
            }
            run(environment, session, 1_000);
        }
    }

    private static void run(OrtEnvironment environment, AllocatorSession session, int rows) throws OrtException {
        try (OnnxTensor tensor = OnnxTensor.createTensor(environment, new float[rows][16])) {
            session.run(Map.of("rows", tensor)).close();
            System.out.println(rows + " rows compared");
        }
    }
}
