package allocator.langchain4j;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ai.djl.Model;
import ai.djl.engine.Engine;
import ai.onnxruntime.OnnxTensor;
import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtSession.SessionOptions;
import allocator.onnxruntime.AllocatorSession;
import allocator.onnxruntime.MemoryProfile;
import allocator.onnxruntime.OnnxRuntimeAllocators;
import allocator.onnxruntime.SessionSettings;
import allocator.spi.OutOfMemoryException;
import dev.langchain4j.data.embedding.Embedding;
import dev.langchain4j.data.segment.TextSegment;
import dev.langchain4j.model.embedding.EmbeddingModel;
import dev.langchain4j.model.embedding.onnx.allminilml6v2q.AllMiniLmL6V2QuantizedEmbeddingModel;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The published in-process model of LangChain4j, with its own session and with one of ours. */
class EmbeddingsTest {
    private static final long LIMIT = 64 << 20;

    @TempDir
    private static Path folder;

    private static Path model;

    @BeforeAll
    static void copyTheModel() throws IOException {
        Engine.getEngine("OnnxRuntime"); // DJL's, which creates the environment of ONNX Runtime, and has to be first
        model = MiniLm.modelIn(folder);
    }

    private static OnnxRuntimeAllocators install(long limit) {
        return OnnxRuntimeAllocators.on(OrtEnvironment.getEnvironment())
                .provider("cpu-reference")
                .option("arena.max_mem", String.valueOf(limit))
                .option("arena.keep_first_region", "0")
                .install();
    }

    private static List<TextSegment> texts() {
        return IntStream.range(0, 12)
                .mapToObj(i -> TextSegment.from("sentence number " + i + " of a text ".repeat(1 + 8 * i)))
                .toList();
    }

    private static List<Embedding> embed(EmbeddingModel embeddings) {
        return embeddings.embedAll(texts()).content();
    }

    @Test
    void theVectorsAreThoseOfItsOwnSessionWithinTheLimit() throws Exception {
        final List<Embedding> expected = embed(new AllMiniLmL6V2QuantizedEmbeddingModel(Runnable::run));
        try (OnnxRuntimeAllocators memory = install(LIMIT)) {
            try (AllocatorSession session = memory.openSession(model)) {
                final List<Embedding> vectors = embed(new AllocatedEmbeddingModel(session, MiniLm.tokenizer()));
                assertThat(vectors).hasSize(12).isEqualTo(expected);
                assertThat(vectors.getFirst().dimension()).isEqualTo(384);
                assertThat(memory.stats().peakBytesHeld()).isPositive().isLessThanOrEqualTo(LIMIT);
                final long held = memory.stats().bytesHeld();
                assertThat(memory.shrink().bytesReleased())
                        .as("of a burst of long texts")
                        .isPositive();
                assertThat(memory.stats().bytesHeld()).isLessThan(held);
                assertThat(embed(new AllocatedEmbeddingModel(session, MiniLm.tokenizer())))
                        .isEqualTo(expected);
            }
            memory.shrink();
            assertThat(memory.stats().bytesHeld()).isZero();
        }
    }

    @Test
    void aTextThatNeedsMoreThanTheLimitFailsWithTheFigures() throws Exception {
        final long weights;
        try (OnnxRuntimeAllocators memory = install(LIMIT);
                AllocatorSession session = memory.openSession(model)) {
            weights = session.stats().bytesInUse();
        }
        assertThat(weights).isPositive();
        try (OnnxRuntimeAllocators memory = install(weights + (1 << 20));
                AllocatorSession session = memory.openSession(model)) {
            final EmbeddingModel embeddings = new AllocatedEmbeddingModel(session, MiniLm.tokenizer());
            final String tooLong = "word ".repeat(500);
            assertThatThrownBy(() -> embeddings.embed(tooLong)).isInstanceOf(RuntimeException.class);
            assertThat(session.lastFailure().orElseThrow().cause())
                    .isInstanceOfSatisfying(
                            OutOfMemoryException.class,
                            e -> assertThat(e.shortage().limit()).isEqualTo(weights + (1 << 20)));
            assertThat(embeddings.embed("short").content().dimension()).isEqualTo(384);
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void everyByteAtThePeakHasAName(boolean hasPatterns) throws Exception {
        try (OnnxRuntimeAllocators memory = install(LIMIT);
                SessionOptions options = new SessionOptions()) {
            options.setMemoryPatternOptimization(hasPatterns);
            try (AllocatorSession session =
                    memory.openSession(model, options, SessionSettings.DEFAULT.withProfiling())) {
                final OrtEnvironment environment = OrtEnvironment.getEnvironment();
                final long[][] words = new long[1][128];
                Arrays.fill(words[0], 1);
                try (OnnxTensor ids = OnnxTensor.createTensor(environment, words);
                        OnnxTensor types = OnnxTensor.createTensor(environment, new long[1][128])) {
                    final MemoryProfile profile =
                            session.profile(Map.of("input_ids", ids, "attention_mask", ids, "token_type_ids", types));
                    System.out.println(profile);
                    final MemoryProfile.Peak peak = profile.peak();
                    assertThat(peak.bytes()).isEqualTo(session.stats().peakBytesInUse());
                    assertThat(peak.unknownBytes()).as(profile::toString).isLessThanOrEqualTo(peak.bytes() / 100);
                    assertThat(peak.byLayer().toString()).contains("layer.");
                }
            }
        }
    }

    @Test
    void aSessionOfDjlTakesMemoryThatIsInstalled() throws Exception {
        try (OnnxRuntimeAllocators memory = install(LIMIT)) {
            loadWithDjl(folder, "all-minilm-l6-v2-q", memory);
            assertThat(memory.bytesInUse()).isZero();
        }
    }

    private static void loadWithDjl(Path folder, String name, OnnxRuntimeAllocators memory) throws Exception {
        try (SessionOptions options = new SessionOptions();
                Model loaded = Model.newInstance(name, "OnnxRuntime")) {
            options.addConfigEntry("session.use_env_allocators", "1");
            loaded.load(folder, name, Map.of("sessionOptions", options));
            assertThat(memory.bytesInUse()).as("the weights").isGreaterThan(1 << 20);
        }
    }

    @Test
    void theExampleRuns() throws Exception {
        final PrintStream before = System.out;
        final ByteArrayOutputStream printed = new ByteArrayOutputStream();
        System.setOut(new PrintStream(printed, true, StandardCharsets.UTF_8));
        try {
            EmbeddingsExample.run(model, MiniLm.tokenizer());
        } finally {
            System.setOut(before);
        }
        assertThat(printed.toString(StandardCharsets.UTF_8))
                .matches("(?s)384 dimensions\\Rheld at most \\d+ bytes, \\d+ in use now\\R"
                        + ".* returned, .* held; .*: reserves, each until it is freed\\R");
    }
}
