package allocator.onnxruntime.ep;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtSession;
import ai.onnxruntime.OrtSession.SessionOptions;
import allocator.onnxruntime.OnnxRuntimeException;
import allocator.onnxruntime.ep.abi.EpApi;
import allocator.onnxruntime.ep.abi.EpFunction;
import allocator.onnxruntime.ep.abi.EpStructs;
import allocator.onnxruntime.support.ThrowingThunk;
import allocator.spi.Allocator;
import allocator.spi.AllocatorOptions;
import allocator.spi.DataTransfer;
import allocator.spi.DeviceDiscovery;
import allocator.spi.DeviceException;
import allocator.spi.DeviceType;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryType;
import allocator.spi.OutOfMemoryException;
import allocator.spi.SyncNotification;
import allocator.spi.SyncStream;
import allocator.testkit.FakeFactory;
import allocator.testkit.FakeMemory;
import allocator.testkit.FakeStream;
import allocator.testkit.Faults;
import java.io.IOException;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Providers that break their contract, or fail in what they take back: the library stays usable, and closes. */
class VendorFaultsTest {
    private static final OrtEnvironment ENVIRONMENT = OrtEnvironment.getEnvironment();

    private static OrtSession open(PluginLibrary library) throws OrtException {
        try (SessionOptions options = new SessionOptions()) {
            options.addExecutionProvider(library.devices(), Map.of());
            return ENVIRONMENT.createSession(ArithmeticModel.bytes(), options);
        } catch (OrtException e) {
            throw library.explained(e);
        }
    }

    private static PluginLibrary register(HostProvider provider) {
        return PluginLibrary.on(ENVIRONMENT).provider(provider).runNodes().register();
    }

    /** The provider {@code cpu-reference}, with a hook before or after each free and each release. */
    private static final class Hooked extends HostProvider {
        private final AtomicReference<Consumer<String>> before = new AtomicReference<>(Faults.NONE);
        private final AtomicReference<Consumer<String>> after = new AtomicReference<>(Faults.NONE);

        @Override
        public Allocator createAllocator(MemoryInfo info, AllocatorOptions options) {
            return new Forwarding.Arena(super.createAllocator(info, options)) {
                @Override
                public void free(long address) {
                    before.get().accept("free");
                    super.free(address);
                    after.get().accept("free");
                }
            };
        }

        @Override
        public void releaseAllocator(Allocator allocator) {
            before.get().accept("release");
            super.releaseAllocator(((Forwarding) allocator).target());
            after.get().accept("release");
        }
    }

    @Nested
    class Registrations {
        @Test
        void twoLibrariesOfOneProviderAreIndependent() throws OrtException {
            final HostProvider provider = new HostProvider();
            final PluginLibrary one = PluginLibrary.on(ENVIRONMENT)
                    .provider(provider)
                    .runNodes()
                    .name("one")
                    .register();
            final PluginLibrary two = PluginLibrary.on(ENVIRONMENT)
                    .provider(provider)
                    .runNodes()
                    .name("two")
                    .register();
            assertThat(one.devices()).hasSize(1).isNotEqualTo(two.devices());
            try (OrtSession first = open(one);
                    OrtSession second = open(two)) {
                assertThat(one.sessions()).isOne();
                assertThat(two.sessions()).isOne();
                assertThat(ArithmeticModel.run(first, 4, 1)).isEqualTo(ArithmeticModel.run(second, 4, 1));
            }
            one.close();
            try (OrtSession second = open(two)) {
                assertThat(ArithmeticModel.run(second, 4, 1)).hasSize(12);
            }
            two.close();
            assertThat(provider.references()).isZero();
            provider.close();
        }

        @Test
        void aReleaseThatThrowsDoesNotHideWhyTheRegistrationFailed() {
            final HostProvider first = new HostProvider();
            final Hooked second = new Hooked();
            try (PluginLibrary library = PluginLibrary.register(ENVIRONMENT, first)) {
                second.before.set(Faults.atCall(1, new AtomicInteger(), () -> new IOException("broken on purpose")));
                assertThatThrownBy(() -> PluginLibrary.register(ENVIRONMENT, second))
                        .isInstanceOf(OnnxRuntimeException.class)
                        .hasMessageContaining("already registered");
                assertThat(second.references()).isZero();
                assertThat(library.failures()).isZero();
            }
            first.close();
            second.close();
        }

        /** Which rule M-03 forbids. */
        @Test
        void aMemoryThatTwoDevicesListLosesNoReference() {
            final MemoryInfo info = FakeMemory.memory("Cuda", DeviceType.GPU, 0, MemoryType.DEFAULT);
            final FakeFactory provider =
                    new FakeFactory("twice").with(DeviceType.GPU, 0, info).with(DeviceType.GPU, 1, info);
            try (PluginLibrary library = PluginLibrary.register(ENVIRONMENT, provider)) {
                assertThat(library.name()).contains("twice");
            } catch (OnnxRuntimeException e) {
                assertThat(e).hasMessageContaining("memory"); // it may be rejected as well
            }
            assertThat(provider.references()).isZero();
            provider.close();
        }

        @Test
        @SuppressWarnings("NullAway") // on purpose
        void nothingInsteadOfDevicesOrCopiesIsRejected() {
            final HostProvider provider = new HostProvider() {
                @Override
                public Optional<DataTransfer> dataTransfer() {
                    return null;
                }
            };
            assertThatThrownBy(() -> PluginLibrary.register(ENVIRONMENT, provider))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("provider cpu-reference returned no");
            final HostProvider blind = new HostProvider() {
                @Override
                public DeviceDiscovery discoverDevices() {
                    return null;
                }
            };
            assertThatThrownBy(() -> PluginLibrary.register(ENVIRONMENT, blind))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("provider cpu-reference returned no");
            provider.close();
            blind.close();
        }
    }

    @Nested
    class Messages {
        @ParameterizedTest
        @ValueSource(ints = {1, 3000, 5000, 200_000})
        void aLongMessageHidesNoCause(int length) {
            hidesNoCause("x".repeat(length));
        }

        @Test
        void aMessageWithAnEndOfStringHidesNoCause() {
            hidesNoCause("broken\0on purpose");
            hidesNoCause("[failure 999 of java.allocator]");
        }

        private static void hidesNoCause(String message) {
            final AtomicBoolean isBroken = new AtomicBoolean();
            final HostProvider provider = new HostProvider() {
                @Override
                public Allocator createAllocator(MemoryInfo info, AllocatorOptions options) {
                    if (isBroken.get()) {
                        throw new IllegalStateException(message);
                    }
                    return super.createAllocator(info, options);
                }
            };
            try (PluginLibrary library = register(provider)) {
                isBroken.set(true);
                assertThat(catchThrowable(() -> open(library)))
                        .isInstanceOf(OrtException.class)
                        .cause()
                        .isInstanceOf(IllegalStateException.class)
                        .hasMessage(message);
                assertThatThrownBy(() -> NativeOrt.createSharedAllocator(
                                NativeOrt.device(HostProvider.NAME), NativeOrt.DEFAULT, Map.of()))
                        .isInstanceOf(OnnxRuntimeException.class);
            }
            provider.close();
        }

        @Test
        void aFailedAllocationIsNotExplainedByAFreeThatFailedBefore() throws OrtException {
            assumeTrue(ThrowingThunk.isSupported(), "failures cannot be returned to ONNX Runtime on this system");
            final Hooked provider = new Hooked();
            try (PluginLibrary library = PluginLibrary.on(ENVIRONMENT)
                    .provider(provider)
                    .option("ep_factory.cpu-reference.arena.max_mem", "1048576")
                    .runNodes()
                    .register()) {
                try (OrtSession session = open(library)) {
                    provider.before.set(Faults.on("free", new IllegalStateException("broken on purpose")));
                    assertThat(ArithmeticModel.run(session, 4, 1)).hasSize(12);
                    provider.before.set(Faults.NONE);
                    final OrtException failure =
                            (OrtException) catchThrowable(() -> ArithmeticModel.run(session, 1_000_000, 1));
                    assertThat(library.explained(failure)).hasCauseInstanceOf(OutOfMemoryException.class);
                    assertThat(ArithmeticModel.run(session, 4, 1)).hasSize(12);
                }
            }
            provider.close();
        }
    }

    @Nested
    class Closing {
        /** The free has ended the block, so that nothing of the session keeps the library. */
        @Test
        void aFreeThatThrowsKeepsNoLibrary() throws OrtException {
            final Hooked provider = new Hooked();
            final PluginLibrary library = register(provider);
            try (OrtSession session = open(library)) {
                provider.before.set(Faults.on("free", new IllegalStateException("broken on purpose")));
                assertThat(ArithmeticModel.run(session, 4, 1)).hasSize(12);
            }
            assertThat(library.failures()).isPositive();
            assertThat(library.liveBlocks()).isZero();
            provider.before.set(Faults.NONE);
            library.close();
            assertThat(provider.references()).isZero();
            provider.close();
        }

        @ParameterizedTest
        @ValueSource(strings = {"free", "release"})
        void whatThrowsAfterItsEffectIsDone(String operation) throws OrtException {
            final Hooked provider = new Hooked();
            final PluginLibrary library = register(provider);
            try (OrtSession session = open(library)) {
                provider.after.set(Faults.on(operation, new IllegalStateException("broken on purpose")));
                assertThat(ArithmeticModel.run(session, 4, 1)).hasSize(12);
            }
            assertThat(library.failures()).isPositive();
            provider.after.set(Faults.NONE);
            library.close();
            assertThat(library.liveBlocks()).isZero();
            assertThat(provider.references()).isZero();
            provider.close();
        }

        @Test
        void oneReferenceThatIsNotTakenBackKeepsNoOther() {
            final AtomicBoolean isBroken = new AtomicBoolean(true);
            final FakeFactory broken = FakeFactory.gpu("broken").before(line -> {
                if (isBroken.get() && line.startsWith("release")) {
                    throw new DeviceException("broken on purpose", null);
                }
            });
            final Hooked throwing = new Hooked();
            final HostProvider sound = new HostProvider();
            throwing.before.set(Faults.on("release", new IOException("broken on purpose")));
            final PluginLibrary library = PluginLibrary.register(ENVIRONMENT, broken, throwing);
            final PluginLibrary other =
                    PluginLibrary.on(ENVIRONMENT).provider(sound).name("other").register();
            assertThatThrownBy(library::close).hasMessage("broken on purpose");
            assertThat(broken.references()).isZero();
            assertThat(throwing.references()).isOne();
            throwing.before.set(Faults.NONE);
            library.close();
            library.close();
            assertThat(throwing.references()).isZero();
            other.close();
            broken.close();
            throwing.close();
            sound.close();
        }

        @Test
        void aStreamWhoseCloseFailedIsClosedByTheClose() {
            final FakeFactory provider = FakeFactory.gpu("fake-gpu");
            final PluginLibrary library = PluginLibrary.register(ENVIRONMENT, provider);
            final long stream = NativeOrt.createStream(NativeOrt.device("fake-gpu"));
            final FakeStream own = provider.streams().getLast();
            own.before(Faults.on("close", new DeviceException("broken on purpose", null)));
            NativeOrt.releaseStream(stream);
            assertThat(own.hasEnded()).isFalse();
            assertThatThrownBy(library::close).hasMessage("broken on purpose");
            own.before(Faults.NONE);
            library.close();
            assertThat(own.hasEnded()).isTrue();
            provider.close();
        }
    }

    @Nested
    class Streams {
        @Test
        @SuppressWarnings("NullAway") // on purpose
        void nothingInsteadOfAStreamIsAnErrorOfOnnxRuntime() {
            final DisguisedGpu provider = new DisguisedGpu() {
                @Override
                public SyncStream createSyncStream(MemoryInfo info) {
                    return null;
                }
            };
            try (PluginLibrary library = PluginLibrary.register(ENVIRONMENT, provider)) {
                assertThatThrownBy(() -> NativeOrt.createStream(NativeOrt.device(DisguisedGpu.NAME)))
                        .isInstanceOf(OnnxRuntimeException.class)
                        .hasMessageContaining("returned no stream");
                assertThat(library.failures()).isOne();
            }
            provider.close();
        }

        @Test
        @SuppressWarnings("NullAway") // on purpose
        void nothingInsteadOfANotificationIsAStatus() {
            final FakeStream mute = new FakeStream(DisguisedGpu.DEVICE) {
                @Override
                public SyncNotification createNotification() {
                    return null;
                }
            };
            final DisguisedGpu provider = new DisguisedGpu() {
                @Override
                public SyncStream createSyncStream(MemoryInfo info) {
                    return mute;
                }
            };
            try (PluginLibrary library = PluginLibrary.register(ENVIRONMENT, provider)) {
                final long stream = NativeOrt.createStream(NativeOrt.device(DisguisedGpu.NAME));
                final long impl = EpApi.get().invoke(EpFunction.SYNC_STREAM_GET_IMPL, stream);
                assertThatThrownBy(() -> NativeOrt.resultOf(impl, EpStructs.SyncStream.CREATE_NOTIFICATION))
                        .isInstanceOf(OnnxRuntimeException.class)
                        .hasMessageContaining("made no notification");
                NativeOrt.releaseStream(stream);
                assertThat(library.failures()).isOne();
            }
            provider.close();
        }
    }
}
