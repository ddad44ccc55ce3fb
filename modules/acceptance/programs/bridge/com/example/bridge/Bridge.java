package com.example.bridge;

import allocator.onnxruntime.OnnxRuntimeAllocators;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;

/** Installs an allocator under ONNX Runtime on a thread of the common pool. */
public final class Bridge {
    private Bridge() {}

    /** Runs it. Argument: the name of the way in. */
    public static void main(String[] args) {
        String result = "ok";
        try {
            CompletableFuture.runAsync(Bridge::install).join();
        } catch (CompletionException e) {
            final StringBuilder why = new StringBuilder("FAILED|");
            for (Throwable cause = e.getCause(); cause != null; cause = cause.getCause()) {
                why.append(cause).append("; ");
            }
            result = why.toString().replace('\n', ' ');
        }
        System.out.println("cell|" + args[0] + "|ONNX Runtime on cpu-reference|" + result);
    }

    private static void install() {
        OnnxRuntimeAllocators.onEnvironment()
                .provider("cpu-reference")
                .option("arena.max_mem", "67108864")
                .install()
                .close();
    }
}
