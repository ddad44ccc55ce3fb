package allocator.onnxruntime.examples;

import ai.onnxruntime.OnnxTensor;
import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtSession;
import ai.onnxruntime.OrtSession.SessionOptions;
import ai.onnxruntime.providers.OrtCUDAProviderOptions;
import allocator.onnxruntime.AllocatorSession;
import allocator.onnxruntime.Binding;
import allocator.onnxruntime.DeviceTensor;
import allocator.onnxruntime.ElementType;
import allocator.onnxruntime.GpuMemory;
import allocator.onnxruntime.InstalledMemory;
import allocator.onnxruntime.OnnxRuntimeAllocators;
import allocator.onnxruntime.SessionSettings;
import allocator.runtime.Environment;
import allocator.spi.AllocatorOptions;
import allocator.spi.OutOfMemoryException;
import allocator.spi.ShrinkReport;
import allocator.spi.SyncStream;
import allocator.trace.Recorder;
import allocator.trace.Replay;
import allocator.trace.ReplayListener;
import allocator.trace.ReplayResult;
import allocator.trace.Trace;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Examples of {@link OnnxRuntimeAllocators}. */
public final class Examples {
    private Examples() {}

    /** Makes the inputs of the model: so many sentences of so many words. The caller closes them. */
    public interface Inputs {
        /** The inputs by name. */
        Map<String, OnnxTensor> of(int sentences, int words) throws OrtException;
    }

    private static void run(AllocatorSession session, Inputs inputs, int sentences, int words) throws OrtException {
        final Map<String, OnnxTensor> tensors = inputs.of(sentences, words);
        try {
            session.run(tensors).close();
        } finally {
            tensors.values().forEach(OnnxTensor::close);
        }
    }

    /** The sample of the module's page: a session limited to 64 MiB. */
    public static void tour(Path model, Inputs inputs) throws OrtException {
        try (OnnxRuntimeAllocators memory = OnnxRuntimeAllocators.on(OrtEnvironment.getEnvironment())
                        .provider("cpu-reference")
                        .option("arena.max_mem", "67108864")
                        .install();
                AllocatorSession session = memory.openSession(model)) {
            try {
                run(session, inputs, 64, 512);
            } catch (OrtException e) {
                System.out.println(e.getCause());
                final String dump = session.lastFailure().orElseThrow().dump();
                dump.lines().limit(2).forEach(System.out::println);
            }
            run(session, inputs, 4, 128);
            System.out.println("still runs, and held at most " + memory.stats().peakBytesHeld() + " bytes");
            System.out.println(memory.shrink());
        }
    }

    /** The sample of the module's page for a profile. */
    public static void profile(Path model, Inputs inputs) throws OrtException {
        try (OnnxRuntimeAllocators memory = OnnxRuntimeAllocators.on(OrtEnvironment.getEnvironment())
                        .provider("cpu-reference")
                        .install();
                SessionOptions options = new SessionOptions();
                AllocatorSession session =
                        memory.openSession(model, options, SessionSettings.DEFAULT.withProfiling())) {
            final Map<String, OnnxTensor> tensors = inputs.of(4, 128);
            System.out.println(session.profile(tensors));
            tensors.values().forEach(OnnxTensor::close);
        }
    }

    /** The sample of the module's page for a GPU: two sessions on one arena of at most 1 GiB. */
    public static void gpu(Path model, Inputs inputs) throws OrtException {
        try (OnnxRuntimeAllocators memory = OnnxRuntimeAllocators.on(OrtEnvironment.getEnvironment())
                        .gpu(GpuMemory.of("cuda-arena")
                                .withOption("arena.max_mem", "1073741824")
                                .withOption("arena.policy", "compact"))
                        .install();
                SessionOptions options = new SessionOptions()) {
            options.addCUDA(0);
            try (AllocatorSession first = memory.openSession(model, options, SessionSettings.DEFAULT);
                    AllocatorSession second = memory.openSession(model, options, SessionSettings.DEFAULT)) {
                run(first, inputs, 64, 256);
                run(second, inputs, 64, 256);
                System.out.println("each in use " + first.gpu(0).stats().bytesInUse() + " bytes, peak "
                        + first.gpu(0).stats().peakBytesInUse() + "; both held at most "
                        + memory.gpu(0).stats().peakBytesHeld());
                System.out.println(memory.gpu(0).shrink());
            }
        }
    }

    /** The sample of the module's page for tensors that stay: generates words, with the cache in {@code memory}. */
    public static void decode(AllocatorSession session, InstalledMemory memory) throws OrtException {
        try (DeviceTensor token = memory.tensor(ElementType.INT64, 1);
                DeviceTensor position = memory.tensor(ElementType.INT64, 1, 1);
                DeviceTensor cache = memory.tensor(ElementType.FLOAT, 4, 8, 16);
                DeviceTensor logits = memory.tensor(ElementType.FLOAT, 1, 32);
                Binding binding = session.bind()
                        .input("token", token)
                        .input("position", position)
                        .input("past", cache)
                        .output("present", cache)
                        .output("logits", logits)) {
            cache.copyFrom(MemorySegment.ofArray(new float[4 * 8 * 16]));
            final float[] scores = new float[32];
            long next = 3;
            for (long place = 0; place < 8; place++) {
                token.copyFrom(MemorySegment.ofArray(new long[] {next}));
                position.copyFrom(MemorySegment.ofArray(new long[] {place}));
                binding.run();
                logits.copyTo(MemorySegment.ofArray(scores));
                next = largest(scores);
                System.out.print(next + " ");
            }
            System.out.println("with " + memory.bytesInUse() + " bytes in use");
        }
    }

    private static int largest(float... scores) {
        int largest = 0;
        for (int i = 1; i < scores.length; i++) {
            largest = scores[i] > scores[largest] ? i : largest;
        }
        return largest;
    }

    /** The sample of the module's page for a captured graph. */
    public static void capture(AllocatorSession session, Binding binding, int runs) throws OrtException {
        binding.capture();
        for (int i = 0; i < runs; i++) {
            binding.run();
        }
        System.out.println("the graph has " + session.gpu(0).bytesCaptured() + " bytes");
    }

    /** The sample of the module's page for a stream of the program. */
    public static void runOn(OrtCUDAProviderOptions cuda, SyncStream one) throws OrtException {
        cuda.add("has_user_compute_stream", "1");
        cuda.add("user_compute_stream", String.valueOf(one.handle()));
    }

    /** The sample of the module's page for a pipeline of two sessions. */
    public static void pipeline(Binding first, SyncStream one, Binding second, SyncStream two, int runs)
            throws OrtException {
        for (int i = 0; i < runs; i++) {
            first.launch(one).waitOnDevice(two);
            second.launch(two).waitOnDevice(one);
        }
    }

    /** Caps all native memory at 64 MiB and catches the failure. Returns what happened. */
    public static String cap(Path model, Inputs inputs) throws OrtException {
        try (OnnxRuntimeAllocators memory = OnnxRuntimeAllocators.on(OrtEnvironment.getEnvironment())
                        .provider("cpu-reference")
                        .option("arena.max_mem", "67108864")
                        .install();
                AllocatorSession session = memory.openSession(model)) {
            try {
                run(session, inputs, 64, 512);
                return "enough";
            } catch (OrtException e) {
                if (e.getCause() instanceof OutOfMemoryException exhausted) {
                    run(session, inputs, 1, 16);
                    return "held " + memory.stats().peakBytesHeld() + " at most, wanted "
                            + exhausted.shortage().requested() + " more, runs smaller inputs";
                }
                throw e;
            }
        }
    }

    /** Shares one arena among four sessions. Returns how many bytes it holds, and how many four arenas would. */
    public static long[] share(Path model, Inputs inputs) throws OrtException {
        long alone = 0;
        long shared = 0;
        for (final int sessions : new int[] {1, 4}) {
            try (OnnxRuntimeAllocators memory = OnnxRuntimeAllocators.on(OrtEnvironment.getEnvironment())
                    .provider("cpu-reference")
                    .install()) {
                final List<AllocatorSession> open = new ArrayList<>();
                for (int i = 0; i < sessions; i++) {
                    open.add(memory.openSession(model));
                }
                for (final AllocatorSession session : open) {
                    run(session, inputs, 8, 128);
                }
                if (sessions == 1) {
                    alone = memory.stats().bytesHeld();
                } else {
                    shared = memory.stats().bytesHeld();
                }
                for (final AllocatorSession session : open) {
                    session.close();
                }
            }
        }
        return new long[] {shared, 4 * alone};
    }

    /** The sample of the module's page for weights: sessions with a copy each, then with one for all. */
    public static void weightsOnce(Path model, int count) throws OrtException {
        for (final String sharing : List.of("0", "1")) {
            try (OnnxRuntimeAllocators memory = OnnxRuntimeAllocators.on(OrtEnvironment.getEnvironment())
                    .provider("cpu-reference")
                    .option(OnnxRuntimeAllocators.SHARE_WEIGHTS, sharing)
                    .install()) {
                final List<AllocatorSession> sessions = new ArrayList<>();
                for (int i = 0; i < count; i++) {
                    sessions.add(memory.openSession(model));
                }
                System.out.println("held " + memory.stats().bytesHeld() + "; "
                        + memory.memories().getFirst());
                for (final AllocatorSession session : sessions) {
                    session.close();
                }
            }
        }
    }

    /** Gives memory back after a burst. Returns what went back. */
    public static ShrinkReport shrink(Path model, Inputs inputs, Runnable afterBurst) throws OrtException {
        try (OnnxRuntimeAllocators memory = OnnxRuntimeAllocators.on(OrtEnvironment.getEnvironment())
                        .provider("cpu-reference")
                        .install();
                AllocatorSession session = memory.openSession(model)) {
            run(session, inputs, 32, 256);
            afterBurst.run();
            return memory.shrink();
        }
    }

    /** Reports results that are not closed, here none, in a directory. */
    public static void leaks(Path model, Inputs inputs, Path directory) throws OrtException {
        try (OnnxRuntimeAllocators memory = OnnxRuntimeAllocators.on(OrtEnvironment.getEnvironment())
                        .provider("cpu-reference")
                        .option(OnnxRuntimeAllocators.LEAKS, "sampled")
                        .option(OnnxRuntimeAllocators.LEAKS_REPORT, directory.toString())
                        .install();
                AllocatorSession session = memory.openSession(model)) {
            run(session, inputs, 4, 128);
        }
    }

    /** Records a session into a trace file and replays it on a fresh arena. Returns the replay's figures. */
    public static ReplayResult record(Path model, Inputs inputs, Path file) throws OrtException, IOException {
        try (Recorder recorder = new Recorder(file);
                OnnxRuntimeAllocators memory = OnnxRuntimeAllocators.on(OrtEnvironment.getEnvironment())
                        .provider("cpu-reference")
                        .install();
                SessionOptions options = new OrtSession.SessionOptions();
                AllocatorSession session =
                        memory.openSession(model, options, SessionSettings.DEFAULT.withDecorator(recorder::wrap))) {
            run(session, inputs, 2, 32);
            run(session, inputs, 4, 64);
        }
        try (Environment environment = Environment.builder()
                .allowModules("java.allocator.cpu.reference")
                .build()) {
            return new Replay(environment, environment.devices().getFirst(), AllocatorOptions.EMPTY)
                    .once(Trace.read(file), ReplayListener.NONE);
        }
    }
}
