package allocator.onnxruntime.ep;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtSession;
import ai.onnxruntime.OrtSession.SessionOptions;
import allocator.onnxruntime.OnnxRuntimeException;
import allocator.spi.Allocator;
import allocator.spi.AllocatorOptions;
import allocator.spi.DataTransfer;
import allocator.spi.DeviceDiscovery;
import allocator.spi.MemoryInfo;
import allocator.spi.OptionKey;
import allocator.spi.SyncStream;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Providers that throw in the callbacks of ONNX Runtime. */
class CallbackFailuresTest {
    private static final OrtEnvironment ENVIRONMENT = OrtEnvironment.getEnvironment();

    /** What any callback may throw. */
    static List<Supplier<Throwable>> throwables() {
        return List.of(
                () -> new IllegalStateException("broken on purpose"),
                () -> new AssertionError("broken on purpose"),
                () -> new OutOfMemoryError("broken on purpose"),
                () -> new StackOverflowError("broken on purpose"),
                () -> new RuntimeException("broken on purpose", null) {
                    private static final long serialVersionUID = 1L;

                    @Override
                    public String getMessage() {
                        throw new IllegalStateException("not even a text");
                    }
                });
    }

    /** A provider that throws in the method that a test names. */
    private static final class Faulty extends HostProvider {
        private final AtomicReference<String> broken = new AtomicReference<>("");
        private volatile Supplier<Throwable> thrown = throwables().getFirst();

        private void enter(String method) {
            if (broken.get().equals(method)) {
                Faulty.<RuntimeException>sneak(thrown.get());
            }
        }

        @SuppressWarnings("unchecked") // the cast does nothing at run time
        private static <T extends Throwable> void sneak(Throwable throwable) throws T {
            throw (T) throwable;
        }

        @Override
        public DeviceDiscovery discoverDevices() {
            enter("discoverDevices");
            return super.discoverDevices();
        }

        @Override
        public List<OptionKey<?>> optionKeys() {
            enter("optionKeys");
            return super.optionKeys();
        }

        @Override
        public Allocator createAllocator(MemoryInfo info, AllocatorOptions options) {
            enter("createAllocator");
            return super.createAllocator(info, options);
        }

        @Override
        public void releaseAllocator(Allocator allocator) {
            enter("releaseAllocator");
            super.releaseAllocator(allocator);
        }

        @Override
        public boolean isStreamAware(MemoryInfo info) {
            enter("isStreamAware");
            return super.isStreamAware(info);
        }

        @Override
        public SyncStream createSyncStream(MemoryInfo info) {
            enter("createSyncStream");
            return super.createSyncStream(info);
        }

        @Override
        public Optional<DataTransfer> dataTransfer() {
            enter("dataTransfer");
            return super.dataTransfer();
        }
    }

    private static void close(PluginLibrary library, Faulty provider) {
        provider.broken.set("");
        library.close();
        assertThat(provider.references()).isZero();
        provider.close();
    }

    @Nested
    class Registering {
        @ParameterizedTest
        @ValueSource(strings = {"optionKeys", "discoverDevices", "createAllocator", "dataTransfer"})
        void whatIsAskedBeforeThrowsToTheCaller(String method) {
            final Faulty provider = new Faulty();
            provider.broken.set(method);
            assertThatThrownBy(() -> PluginLibrary.register(ENVIRONMENT, provider))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessage("broken on purpose");
            assertThat(provider.references()).isZero();
            provider.broken.set("");
            close(PluginLibrary.register(ENVIRONMENT, provider), provider);
        }

        @ParameterizedTest
        @MethodSource("allocator.onnxruntime.ep.CallbackFailuresTest#throwables")
        void whateverIsThrownStaysInJava(Supplier<Throwable> thrown) {
            final Faulty provider = new Faulty();
            provider.thrown = thrown;
            final PluginLibrary library = PluginLibrary.register(ENVIRONMENT, provider);
            provider.broken.set("createAllocator");
            assertThatThrownBy(() -> NativeOrt.createSharedAllocator(
                            NativeOrt.device(HostProvider.NAME), NativeOrt.DEFAULT, Map.of()))
                    .isInstanceOf(OnnxRuntimeException.class);
            assertThat(library.failures()).isOne();
            close(library, provider);
        }

        @Test
        void aNullAllocatorIsRejected() {
            final HostProvider provider = new HostProvider() {
                @Override
                @SuppressWarnings("NullAway") // on purpose
                public Allocator createAllocator(MemoryInfo info, AllocatorOptions options) {
                    return null;
                }
            };
            assertThatThrownBy(() -> PluginLibrary.register(ENVIRONMENT, provider))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("provider cpu-reference returned no allocator of Cpu (cpu:0)");
            provider.close();
        }
    }

    @Nested
    class Sessions {
        @ParameterizedTest
        @ValueSource(strings = {"optionKeys", "createAllocator"})
        void aFailureEndsTheOpeningOfASessionAndNothingElse(String method) throws OrtException {
            final Faulty provider = new Faulty();
            final PluginLibrary library =
                    PluginLibrary.on(ENVIRONMENT).provider(provider).runNodes().register();
            provider.broken.set(method);
            assertThatThrownBy(() -> open(library))
                    .isInstanceOf(OrtException.class)
                    .hasCauseInstanceOf(IllegalStateException.class);
            assertThat(library.sessions()).isZero();
            provider.broken.set("");
            try (OrtSession session = open(library)) {
                assertThat(ArithmeticModel.run(session, 3, 1)).hasSize(9);
            }
            close(library, provider);
        }

        @Test
        void aReleaseThatFailsIsTriedAgainByTheClose() throws OrtException {
            final Faulty provider = new Faulty();
            final PluginLibrary library =
                    PluginLibrary.on(ENVIRONMENT).provider(provider).runNodes().register();
            final int before = provider.references();
            try (OrtSession session = open(library)) {
                assertThat(ArithmeticModel.run(session, 3, 1)).hasSize(9);
                provider.broken.set("releaseAllocator");
            }
            assertThat(provider.references()).isGreaterThan(before);
            assertThat(library.takeFailure().orElseThrow().callback()).isEqualTo("OrtEpFactory::ReleaseAllocator");
            assertThatThrownBy(library::close).hasMessage("broken on purpose");
            close(library, provider);
        }

        private static OrtSession open(PluginLibrary library) throws OrtException {
            try (SessionOptions options = new SessionOptions()) {
                options.addExecutionProvider(library.devices(), Map.of());
                return ENVIRONMENT.createSession(ArithmeticModel.bytes(), options);
            } catch (OrtException e) {
                throw library.explained(e);
            }
        }
    }

    @Nested
    class Streams {
        @Test
        void aStreamThatCannotBeCreatedIsAnErrorOfOnnxRuntime() {
            final DisguisedGpu provider = new DisguisedGpu() {
                @Override
                public SyncStream createSyncStream(MemoryInfo info) {
                    throw new IllegalStateException("broken on purpose");
                }
            };
            try (PluginLibrary library = PluginLibrary.register(ENVIRONMENT, provider)) {
                assertThatThrownBy(() -> NativeOrt.createStream(NativeOrt.device(DisguisedGpu.NAME)))
                        .isInstanceOf(OnnxRuntimeException.class)
                        .hasMessageContaining("broken on purpose");
                assertThat(library.lastFailure().orElseThrow().provider()).isEqualTo(DisguisedGpu.NAME);
            }
            provider.close();
        }
    }
}
