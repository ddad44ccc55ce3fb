package allocator.onnxruntime.ep;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtSession;
import ai.onnxruntime.OrtSession.SessionOptions;
import allocator.onnxruntime.OnnxRuntimeLibrary;
import allocator.spi.AllocatorStats;
import allocator.spi.InvalidOptionException;
import allocator.spi.OutOfMemoryException;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Sessions of stock ONNX Runtime whose nodes run in Java, in the memory of a Java provider. */
class SessionsTest {
    /** With it a session is rejected if a node would run elsewhere. */
    private static final String NO_FALLBACK = "session.disable_cpu_ep_fallback";

    private static final OrtEnvironment ENVIRONMENT = OrtEnvironment.getEnvironment();

    private final HostProvider provider = new HostProvider();

    @AfterEach
    void close() {
        assertThat(provider.references()).isZero();
        provider.close();
    }

    private PluginLibrary register() {
        return PluginLibrary.on(ENVIRONMENT).provider(provider).runNodes().register();
    }

    private static OrtSession open(PluginLibrary library, Map<String, String> options) throws OrtException {
        try (SessionOptions sessionOptions = new SessionOptions()) {
            sessionOptions.addConfigEntry(NO_FALLBACK, "1");
            // Only the provider's memory is an arena then.
            sessionOptions.setCPUArenaAllocator(false);
            // Otherwise a run allocates what a run of other sizes before it needed.
            sessionOptions.setMemoryPatternOptimization(false);
            sessionOptions.addExecutionProvider(library.devices(), options);
            return ENVIRONMENT.createSession(ArithmeticModel.bytes(), sessionOptions);
        }
    }

    private static OrtSession openOnCpu() throws OrtException {
        try (SessionOptions options = new SessionOptions()) {
            return ENVIRONMENT.createSession(ArithmeticModel.bytes(), options);
        }
    }

    private AllocatorStats stats() {
        return provider.creations().stream()
                .filter(creation -> !creation.info().isReadOnly())
                .toList()
                .getLast()
                .allocator()
                .stats();
    }

    @Nested
    class Nodes {
        @ParameterizedTest
        @ValueSource(ints = {1, 2, 7, 1000, 0})
        void resultsAreThoseOfOnnxRuntimeToTheBit(int rows) throws OrtException {
            try (PluginLibrary library = register();
                    OrtSession java = open(library, Map.of());
                    OrtSession cpu = openOnCpu()) {
                for (int seed = 0; seed < 5; seed++) {
                    assertThat(ArithmeticModel.run(java, rows, seed)).isEqualTo(ArithmeticModel.run(cpu, rows, seed));
                }
                assertThat(library.failures()).isZero();
            }
        }

        /** Before operator set 7 attributes said how operands are broadcast. */
        @Test
        void nodesOfOldOperatorSetsDoNotRunInJava() throws OrtException {
            try (PluginLibrary library = register();
                    SessionOptions options = new SessionOptions()) {
                options.addExecutionProvider(library.devices(), Map.of());
                assertThatThrownBy(() -> ENVIRONMENT.createSession(ArithmeticModel.bytes(6), options))
                        .isInstanceOf(OrtException.class)
                        .hasMessageContaining("Add(6)");
                ENVIRONMENT.createSession(ArithmeticModel.bytes(7), options).close();
            }
        }

        @Test
        void theirMemoryIsTheProviders() throws OrtException {
            try (PluginLibrary library = register();
                    OrtSession session = open(library, Map.of())) {
                final long before = stats().numAllocs();
                ArithmeticModel.run(session, 100, 1);
                assertThat(stats().numAllocs()).isGreaterThanOrEqualTo(before + 3);
                assertThat(stats().maxAllocSize()).isGreaterThanOrEqualTo(100 * ArithmeticModel.COLUMNS * Float.BYTES);
            }
        }

        @Test
        void withoutRunNodesTheyRunInOnnxRuntime() throws OrtException {
            try (PluginLibrary library = PluginLibrary.register(ENVIRONMENT, provider)) {
                assertThatThrownBy(() -> open(library, Map.of()))
                        .isInstanceOf(OrtException.class)
                        .hasMessageContaining("fallback to CPU EP has been explicitly disabled");
                assertThat(library.sessions()).isZero();
            }
        }

        @Test
        void sessionsRunAtOnceOnThreadsThatJavaHasNotMade() throws Exception {
            try (PluginLibrary library = register();
                    OrtSession cpu = openOnCpu()) {
                final int[] expected = ArithmeticModel.run(cpu, 50, 3);
                final Thread[] threads = new Thread[4];
                final boolean[] isEqual = new boolean[threads.length];
                try (SessionOptions options = new SessionOptions()) {
                    options.addConfigEntry(NO_FALLBACK, "1");
                    // Nodes then run on ONNX Runtime's own threads.
                    options.setExecutionMode(SessionOptions.ExecutionMode.PARALLEL);
                    options.setInterOpNumThreads(2);
                    options.addExecutionProvider(library.devices(), Map.of());
                    try (OrtSession session = ENVIRONMENT.createSession(ArithmeticModel.bytes(), options)) {
                        for (int i = 0; i < threads.length; i++) {
                            final int number = i;
                            threads[i] = new Thread(() -> isEqual[number] = isEqual(session, expected));
                            threads[i].start();
                        }
                        for (final Thread thread : threads) {
                            thread.join();
                        }
                    }
                }
                assertThat(isEqual).containsOnly(true);
            }
        }

        private static boolean isEqual(OrtSession session, int[] expected) {
            try {
                for (int i = 0; i < 50; i++) {
                    if (!java.util.Arrays.equals(ArithmeticModel.run(session, 50, 3), expected)) {
                        return false;
                    }
                }
                return true;
            } catch (OrtException e) {
                throw new AssertionError(e);
            }
        }
    }

    @Nested
    class Settings {
        @Test
        void aSessionSetsOptionsOfItsMemory() throws OrtException {
            try (PluginLibrary library = register();
                    OrtSession session =
                            open(library, Map.of("arena.exclusive", "1", "arena.initial_chunk_size_bytes", "25600"))) {
                ArithmeticModel.run(session, 10, 1);
                assertThat(stats().bytesHeld()).isEqualTo(25600);
                assertThat(provider.last().options().origin("arena.exclusive")).isEqualTo("session");
            }
        }

        @Test
        void anUnknownOptionIsRejectedWithItsCause() throws OrtException {
            try (PluginLibrary library = register()) {
                assertThatThrownBy(() -> {
                            try {
                                open(library, Map.of("arena.exclusiv", "1"));
                            } catch (OrtException e) {
                                throw library.explained(e);
                            }
                        })
                        .isInstanceOf(OrtException.class)
                        .hasMessageContaining("did you mean arena.exclusive?")
                        .hasCauseInstanceOf(InvalidOptionException.class);
                assertThat(library.sessions()).isZero();
            }
        }

        @Test
        void aLimitEndsARunAndTheSessionRunsOn() throws OrtException {
            try (PluginLibrary library = register();
                    OrtSession session = open(library, Map.of("arena.exclusive", "1", "arena.max_mem", "1048576"))) {
                assertThatThrownBy(() -> {
                            try {
                                ArithmeticModel.run(session, 200_000, 1);
                            } catch (OrtException e) {
                                throw library.explained(e);
                            }
                        })
                        .isInstanceOf(OrtException.class)
                        .hasCauseInstanceOf(OutOfMemoryException.class);
                assertThat(ArithmeticModel.run(session, 10, 1)).hasSize(10 * ArithmeticModel.COLUMNS);
                assertThat(stats().peakBytesHeld()).isLessThanOrEqualTo(1048576);
            }
        }
    }

    @Nested
    class Shrinking {
        @Test
        void aRunOptionShrinksTheArena() throws OrtException {
            assumeTrue(OnnxRuntimeLibrary.apiVersion() >= 25, "ONNX Runtime shrinks plug-in allocators from 1.25 on");
            try (PluginLibrary library = register();
                    OrtSession session =
                            open(library, Map.of("arena.exclusive", "1", "arena.keep_first_region", "0"))) {
                ArithmeticModel.run(session, 1_000_000, 1);
                final long held = stats().bytesHeld();
                assertThat(stats().numArenaShrinkages()).isZero();
                final OrtSession.RunOptions shrink = new OrtSession.RunOptions();
                shrink.addRunConfigEntry("memory.enable_memory_arena_shrinkage", "cpu:0");
                ArithmeticModel.run(session, 10, 1, shrink);
                assertThat(stats().numArenaShrinkages()).isPositive();
                assertThat(stats().bytesHeld()).isLessThan(held);
            }
        }
    }

    @Nested
    class Closing {
        @Test
        void anOpenSessionKeepsTheLibrary() throws OrtException {
            try (PluginLibrary library = register()) {
                try (OrtSession session = open(library, Map.of())) {
                    assertThat(library.sessions()).isOne();
                    assertThatThrownBy(library::close)
                            .isInstanceOf(IllegalStateException.class)
                            .hasMessageContaining("1 open session (close it first)");
                    assertThat(ArithmeticModel.run(session, 2, 1)).hasSize(2 * ArithmeticModel.COLUMNS);
                }
                assertThat(library.sessions()).isZero();
            }
        }
    }
}
