package allocator.onnxruntime;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ai.onnxruntime.OnnxTensor;
import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtProvider;
import ai.onnxruntime.OrtSession;
import ai.onnxruntime.OrtSession.SessionOptions;
import ai.onnxruntime.providers.OrtCUDAProviderOptions;
import allocator.onnxruntime.examples.Examples;
import allocator.spi.ShrinkReport;
import allocator.spi.SyncNotification;
import allocator.spi.SyncStream;
import allocator.testkit.Gpu;
import java.lang.foreign.MemorySegment;
import java.nio.LongBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tensors that stay on a real GPU, streams of the program and captured graphs; run as {@link CudaSessionTest}. */
class CudaBindingTest {
    private static final int REPLAYS = Integer.getInteger("allocator.onnxruntime.cuda.replays", 100_000);
    private static final int TOKENS = 1024;
    private static final Decoder DECODER = new Decoder(4, TOKENS, 256, 2048);
    private static final byte[] MODEL = DECODER.model();
    private static final long[] SEQUENCE = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9};

    private final OrtEnvironment environment = OrtEnvironment.getEnvironment();

    @BeforeAll
    static void requireCuda() {
        if (!OrtEnvironment.getAvailableProviders().contains(OrtProvider.CUDA)) {
            throw Gpu.absent("this ONNX Runtime has no CUDA provider; onnxruntime.native.path names another one");
        }
    }

    private OnnxRuntimeAllocators install(String... options) {
        GpuMemory gpu = GpuMemory.of("cuda-arena");
        for (int i = 0; i < options.length; i += 2) {
            gpu = gpu.withOption(options[i], options[i + 1]);
        }
        return OnnxRuntimeAllocators.on(environment).gpu(gpu).install();
    }

    private static AllocatorSession open(OnnxRuntimeAllocators memory, byte[] model, String... cudaOptions)
            throws OrtException {
        try (SessionOptions options = new SessionOptions();
                OrtCUDAProviderOptions cuda = new OrtCUDAProviderOptions(0)) {
            for (int i = 0; i < cudaOptions.length; i += 2) {
                cuda.add(cudaOptions[i], cudaOptions[i + 1]);
            }
            options.setSymbolicDimensionValue("batch", 1);
            options.setSymbolicDimensionValue("seq", 16);
            options.addCUDA(cuda);
            return memory.openSession(model, "model", options, SessionSettings.DEFAULT);
        }
    }

    private static AllocatorSession openOn(SyncStream stream, OnnxRuntimeAllocators memory) throws OrtException {
        return open(
                memory,
                SmallModels.chain(),
                "has_user_compute_stream",
                "1",
                "user_compute_stream",
                String.valueOf(stream.handle()));
    }

    private OrtSession openPlain(byte[] model) throws OrtException {
        try (SessionOptions options = new SessionOptions()) {
            options.setSymbolicDimensionValue("batch", 1);
            options.setSymbolicDimensionValue("seq", 16);
            options.addCUDA(0);
            return environment.createSession(model, options);
        }
    }

    private static float[] floats(DeviceTensor tensor) {
        final float[] values = new float[(int) (tensor.byteSize() / Float.BYTES)];
        tensor.copyTo(MemorySegment.ofArray(values));
        return values;
    }

    private static void report(String what, long ours, long theirs) {
        System.out.printf(
                Locale.ROOT,
                "%s: %.1f us, OrtSession.run %.1f us, ratio %.3f%n",
                what,
                ours / 1e3,
                theirs / 1e3,
                (double) ours / theirs);
    }

    /** A call that is measured. */
    private interface Call {
        void run() throws OrtException;
    }

    /** Returns the median of the nanoseconds of a call, of five rounds in turn with another one. */
    private static long[] medians(int calls, Call first, Call second) throws OrtException {
        final long[] ours = new long[5];
        final long[] theirs = new long[5];
        for (int round = 0; round < 5; round++) {
            ours[round] = nanos(calls, first);
            theirs[round] = nanos(calls, second);
        }
        Arrays.sort(ours);
        Arrays.sort(theirs);
        return new long[] {ours[2], theirs[2]};
    }

    private static long nanos(int calls, Call call) throws OrtException {
        final long begin = System.nanoTime();
        for (int i = 0; i < calls; i++) {
            call.run();
        }
        return (System.nanoTime() - begin) / calls;
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aDecoderKeepsItsCacheOnTheDevice(boolean isCaptured) throws OrtException {
        try (OnnxRuntimeAllocators memory = install();
                OrtSession theirs = openPlain(MODEL);
                BoundDecoder ours = new BoundDecoder(
                        DECODER, open(memory, MODEL, "enable_cuda_graph", isCaptured ? "1" : "0"), memory.gpu(0))) {
            final float[][] expected = DECODER.plain(theirs, SEQUENCE);
            if (isCaptured) {
                ours.set(0, 0);
                ours.binding.capture();
                ours.clear();
            }
            for (int i = 0; i < SEQUENCE.length; i++) {
                assertArrayEquals(expected[i], ours.next(SEQUENCE[i], i), 1e-5f);
            }
            final int[] place = {0};
            final long[] nanos = medians(
                    SEQUENCE.length * 4,
                    () -> ours.next(SEQUENCE[place[0]++ % SEQUENCE.length], place[0] % TOKENS),
                    () -> {
                        if (place[0]++ % SEQUENCE.length == 0) {
                            DECODER.plain(theirs, SEQUENCE);
                        }
                    });
            report("a token" + (isCaptured ? " by graph" : ""), nanos[0], nanos[1]);
        }
    }

    @Test
    void aCapturedTinyBertHasTheBitsOfARunWithoutAGraph() throws OrtException {
        try (OnnxRuntimeAllocators memory = install();
                AllocatorSession plain = open(memory, Models.TINY_BERT);
                AllocatorSession session = open(memory, Models.TINY_BERT, "enable_cuda_graph", "1");
                DeviceTensor ids = memory.gpu(0).tensor(ElementType.INT64, 1, 16);
                DeviceTensor mask = memory.gpu(0).tensor(ElementType.INT64, 1, 16);
                OrtSession theirs = openPlain(Models.TINY_BERT)) {
            final String output = session.session().getOutputNames().iterator().next();
            final int[] size = Models.run(plain::run, 1, 16, 1);
            final long[] shape = {1, 16, size.length / 16};
            try (DeviceTensor y = memory.gpu(0).tensor(ElementType.FLOAT, shape);
                    Binding binding = session.bind()
                            .input("input_ids", ids)
                            .input("attention_mask", mask)
                            .output(output, y)) {
                final long[] ones = new long[16];
                Arrays.fill(ones, 1);
                mask.copyFrom(MemorySegment.ofArray(ones));
                ids.copyFrom(MemorySegment.ofArray(ones));
                binding.capture();
                System.out.println("captured: " + session.gpu(0).bytesCaptured());
                for (int seed = 1; seed < 20; seed++) {
                    final Map<String, OnnxTensor> inputs = Models.inputs(1, 16, seed);
                    final LongBuffer words = inputs.get("input_ids").getLongBuffer();
                    final long[] array = new long[16];
                    words.get(array);
                    inputs.values().forEach(OnnxTensor::close);
                    ids.copyFrom(MemorySegment.ofArray(array));
                    binding.run();
                    final int[] expected = Models.run(plain::run, 1, 16, seed);
                    final float[] got = floats(y);
                    for (int i = 0; i < got.length; i++) {
                        assertEquals(expected[i], Float.floatToRawIntBits(got[i]), "element " + i);
                    }
                }
                final Map<String, OnnxTensor> inputs = Models.inputs(1, 16, 1);
                final long[] nanos =
                        medians(500, binding::run, () -> theirs.run(inputs).close());
                report("tiny_bert by graph", nanos[0], nanos[1]);
                final long[] copied = medians(
                        500,
                        () -> {
                            ids.copyFrom(MemorySegment.ofArray(ones));
                            binding.run();
                            floats(y);
                        },
                        () -> theirs.run(inputs).close());
                report("tiny_bert by graph, with copies", copied[0], copied[1]);
                inputs.values().forEach(OnnxTensor::close);
            }
        }
    }

    /** What a captured graph uses is never another session's, whatever those do. */
    @ParameterizedTest
    @CsvSource({"best-fit", "compact", "slabs"})
    void replaysAreRightUnderBurstsOfOtherSessions(String policy) throws Exception {
        try (OnnxRuntimeAllocators memory = install("arena.policy", policy);
                ExecutorService threads = Executors.newFixedThreadPool(3)) {
            try (BoundDecoder ours =
                    new BoundDecoder(DECODER, open(memory, MODEL, "enable_cuda_graph", "1"), memory.gpu(0))) {
                ours.set(0, 0);
                ours.binding.capture();
                final long captured = ours.session.gpu(0).bytesCaptured();
                assertTrue(captured > 0, "nothing is captured");
                final AtomicBoolean isOver = new AtomicBoolean();
                final List<Future<Integer>> others = new ArrayList<>();
                final List<AllocatorSession> sessions = new ArrayList<>();
                for (int i = 0; i < 3; i++) {
                    try (SessionOptions options = new SessionOptions()) {
                        options.addCUDA(0);
                        sessions.add(memory.openSession(Models.TINY_BERT, "other", options, SessionSettings.DEFAULT));
                    }
                }
                for (final AllocatorSession other : sessions) {
                    others.add(threads.submit(() -> {
                        int runs = 0;
                        while (!isOver.get()) {
                            Models.run(other::run, 1 + runs % 7, 8 + runs * 13 % 200, runs);
                            if (runs % 20 == 0) {
                                memory.shrink();
                            }
                            runs++;
                        }
                        return runs;
                    }));
                }
                ours.clear();
                final float[] expected = ours.next(3, 0).clone();
                for (int i = 0; i < REPLAYS / 3; i++) {
                    ours.binding.run();
                    if (i % 100 == 0) {
                        assertArrayEquals(expected, floats(ours.logits), "replay " + i);
                    }
                }
                assertArrayEquals(expected, floats(ours.logits));
                isOver.set(true);
                for (final Future<Integer> other : others) {
                    assertTrue(other.get() > 0);
                }
                assertEquals(captured, ours.session.gpu(0).bytesCaptured());
                for (final AllocatorSession other : sessions) {
                    other.close();
                }
            }
            final ShrinkReport report = memory.shrink();
            assertEquals(0, memory.gpu(0).bytesInUse(), report::toString);
        }
    }

    @Test
    void twoSessionsAreAPipelineOnTwoStreams() throws OrtException {
        try (OnnxRuntimeAllocators memory = install();
                SyncStream one = memory.gpu(0).createStream();
                SyncStream two = memory.gpu(0).createStream();
                AllocatorSession first = openOn(one, memory);
                AllocatorSession second = openOn(two, memory);
                DeviceTensor x = memory.gpu(0).tensor(ElementType.FLOAT, 1000);
                DeviceTensor y = memory.gpu(0).tensor(ElementType.FLOAT, 11_000);
                DeviceTensor z = memory.gpu(0).tensor(ElementType.FLOAT, 121_000);
                Binding make = first.bind().input("x", x).output(SmallModels.LAST, y);
                Binding use = second.bind().input("x", y).output(SmallModels.LAST, z)) {
            final float[] elements = new float[1000];
            for (int run = 0; run < 1000; run++) {
                Arrays.fill(elements, run);
                x.copyFrom(MemorySegment.ofArray(elements));
                final SyncNotification made = make.launch(one);
                made.waitOnDevice(two);
                final SyncNotification used = use.launch(two);
                used.waitOnDevice(one);
                Examples.pipeline(make, one, use, two, 1);
                final float[] all = floats(z);
                assertEquals(run, all[0]);
                assertEquals(run, all[120_999]);
            }
            assertThrows(IllegalStateException.class, () -> make.launch(two));
        }
    }

    @Test
    void theProgramsOfTheModulesPageRun() throws OrtException {
        final byte[] small = new Decoder(2, 8, 16, 32).model();
        try (OnnxRuntimeAllocators memory = install();
                AllocatorSession session = open(memory, small, "enable_cuda_graph", "1")) {
            Examples.decode(session, memory.gpu(0));
            try (BoundDecoder ours =
                    new BoundDecoder(DECODER, open(memory, MODEL, "enable_cuda_graph", "1"), memory.gpu(0))) {
                Examples.capture(ours.session, ours.binding, 10);
            }
        }
    }

    @Test
    void badCapturesAreRejectedAndNothingStays() throws Exception {
        try (OnnxRuntimeAllocators memory = install();
                BoundDecoder ours =
                        new BoundDecoder(DECODER, open(memory, MODEL, "enable_cuda_graph", "1"), memory.gpu(0));
                DeviceTensor hostToken = memory.pinned(0).tensor(ElementType.INT64, 1)) {
            ours.set(3, 0);
            ours.binding.input("token", hostToken);
            assertTrue(assertThrows(IllegalStateException.class, ours.binding::capture)
                    .getMessage()
                    .contains("in a GPU's own memory"));
            ours.binding.input("token", ours.token).run();
            ours.binding.capture();
            assertTrue(assertThrows(IllegalStateException.class, () -> ours.binding.input("token", hostToken))
                    .getMessage()
                    .contains("whose tensors are fixed"));
            final Thread other = Thread.ofPlatform().start(() -> {
                final IllegalStateException failure = assertThrows(IllegalStateException.class, ours.binding::run);
                System.out.println(failure.getMessage());
            });
            other.join();
            assertTrue(ours.session.gpu(0).bytesCaptured() > 0);
            ours.binding.close();
            assertEquals(0, ours.session.gpu(0).bytesCaptured());
            assertFalse(ours.token.isClosed());
        }
    }

    @Test
    void aModelWithNodesOnTheProcessorIsRejectedByName() throws OrtException {
        try (OnnxRuntimeAllocators memory = install()) {
            final OrtException failure = assertThrows(
                    OrtException.class,
                    () -> open(memory, SmallModels.choice("choice"), "enable_cuda_graph", "1")
                            .close());
            System.out.println(failure.getMessage());
            assertEquals(0, memory.gpu(0).bytesInUse());
        }
    }

    @Test
    void inputsOfTheHostAreReadAtEachRun() throws OrtException {
        try (OnnxRuntimeAllocators memory = install();
                AllocatorSession session = open(memory, SmallModels.chain());
                DeviceTensor x = memory.pinned(0).tensor(ElementType.FLOAT, 2);
                Binding binding = session.bind().input("x", x).output(SmallModels.LAST, memory.gpu(0))) {
            for (int run = 0; run < 100; run++) {
                x.copyFrom(MemorySegment.ofArray(new float[] {run, run + 1}));
                binding.run();
                try (DeviceTensor y = binding.result(SmallModels.LAST)) {
                    assertEquals(run + 1, floats(y)[21]);
                }
            }
        }
    }
}
