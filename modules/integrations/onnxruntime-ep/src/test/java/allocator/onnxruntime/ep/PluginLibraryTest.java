package allocator.onnxruntime.ep;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtEpDevice;
import ai.onnxruntime.OrtException;
import allocator.onnxruntime.OnnxRuntimeException;
import allocator.provider.support.platform.Platform;
import allocator.spi.DeviceType;
import allocator.spi.InvalidOptionException;
import allocator.spi.MemoryType;
import allocator.testkit.FakeFactory;
import allocator.testkit.FakeMemory;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Registrations with stock ONNX Runtime. */
class PluginLibraryTest {
    private static final OrtEnvironment ENVIRONMENT = OrtEnvironment.getEnvironment();

    private static List<String> listed() throws OrtException {
        return ENVIRONMENT.getEpDevices().stream().map(OrtEpDevice::getEpName).toList();
    }

    private static List<Path> files() throws IOException {
        try (var all = Files.list(Path.of(System.getProperty("java.io.tmpdir")))) {
            return all.filter(path -> path.getFileName().toString().startsWith("java-allocator-ep"))
                    .toList();
        }
    }

    @Test
    @Tag("module-path")
    void theModuleHasItsName() {
        assertThat(PluginLibrary.class.getModule().getName()).isEqualTo("java.allocator.onnxruntime.ep");
    }

    @ParameterizedTest
    @CsvSource({"Mac OS X, aarch64", "Windows 11, amd64", "Linux, riscv64"})
    void anotherPlatformIsRefusedByNameAndNothingIsRegistered(String system, String processor) throws OrtException {
        try (HostProvider provider = new HostProvider()) {
            final PluginLibrary.Builder builder = PluginLibrary.on(ENVIRONMENT).provider(provider);
            assertThatThrownBy(() -> builder.register(new Platform(system, processor)))
                    .isInstanceOf(UnsupportedOperationException.class)
                    .hasMessageContaining("this is " + system + " on " + processor);
            assertThat(listed()).doesNotContain("cpu-reference");
            assertThat(provider.references()).isZero();
            builder.register().close();
        }
    }

    @Nested
    class Devices {
        @Test
        void onnxRuntimeListsTheDevicesOfAProviderWhileItIsRegistered() throws OrtException {
            try (HostProvider provider = new HostProvider()) {
                try (PluginLibrary library = PluginLibrary.register(ENVIRONMENT, provider)) {
                    assertThat(library.name()).isEqualTo("java.allocator:cpu-reference");
                    assertThat(library.devices()).hasSize(1);
                    final OrtEpDevice device = library.devices().getFirst();
                    assertThat(device.getEpName()).isEqualTo("cpu-reference");
                    assertThat(device.getEpVendor()).isEqualTo("java.allocator");
                    assertThat(device.getEpMetadata())
                            .containsEntry("memory.Cpu", "Cpu (cpu:0)")
                            .containsEntry("memory.CpuReadOnly", "CpuReadOnly (cpu:0 read-only)")
                            .containsKey("hardware.cores");
                    assertThat(listed()).contains("cpu-reference");
                }
                assertThat(listed()).doesNotContain("cpu-reference");
                assertThat(provider.references()).isZero();
            }
        }

        @Test
        void eachMemoryIsAMemoryOfItsDevice() {
            final FakeFactory provider = FakeFactory.gpu("fake-gpu");
            try (PluginLibrary library = PluginLibrary.register(ENVIRONMENT, provider)) {
                final long device = NativeOrt.device("fake-gpu");
                assertThat(NativeOrt.nameOf(NativeOrt.memoryInfo(device, NativeOrt.DEFAULT)))
                        .isEqualTo("Cuda");
                assertThat(NativeOrt.nameOf(NativeOrt.memoryInfo(device, NativeOrt.HOST_ACCESSIBLE)))
                        .isEqualTo("CudaPinned");
                assertThat(library.failures()).isZero();
            }
            provider.close();
        }

        @Test
        void severalProvidersAreOneLibrary() throws OrtException {
            final FakeFactory first = FakeFactory.gpu("first-gpu");
            final FakeFactory second = new FakeFactory("second-npu")
                    .with(DeviceType.NPU, 0, FakeMemory.memory("Npu", DeviceType.NPU, 0, MemoryType.DEFAULT));
            try (PluginLibrary library = PluginLibrary.register(ENVIRONMENT, first, second)) {
                assertThat(library.devices())
                        .extracting(OrtEpDevice::getEpName)
                        .containsExactlyInAnyOrder("first-gpu", "second-npu");
            }
            first.close();
            second.close();
        }

        @Test
        void aProviderWithoutDevicesIsRegistered() throws OrtException {
            try (FakeFactory provider = new FakeFactory("nothing");
                    PluginLibrary library = PluginLibrary.register(ENVIRONMENT, provider)) {
                assertThat(library.devices()).isEmpty();
            }
        }

        @Test
        void moreDevicesThanOnnxRuntimeTakesAreRejected() {
            final FakeFactory provider = new FakeFactory("many-gpus");
            for (int i = 0; i < 9; i++) {
                provider.withGpu(i);
            }
            assertThatThrownBy(() -> PluginLibrary.register(ENVIRONMENT, provider))
                    .isInstanceOf(OnnxRuntimeException.class)
                    .hasMessageContaining("at most 8 devices")
                    .cause()
                    .isInstanceOf(IllegalStateException.class);
            assertThat(provider.references()).isZero();
        }

        @Test
        void cpuMemoryOfSmallAlignmentIsRejected() {
            final FakeFactory provider = new FakeFactory("small")
                    .with(
                            DeviceType.CPU,
                            0,
                            new allocator.spi.MemoryInfo(
                                    "Small",
                                    FakeMemory.location(DeviceType.CPU, 0),
                                    32,
                                    allocator.spi.AllocatorType.DEVICE));
            assertThatThrownBy(() -> PluginLibrary.register(ENVIRONMENT, provider))
                    .hasMessageContaining("Small (cpu:0) is aligned to 32 bytes; ONNX Runtime needs 64");
        }
    }

    @Nested
    class Names {
        @Test
        void aNameIsRegisteredOnce() {
            try (HostProvider provider = new HostProvider();
                    PluginLibrary library = PluginLibrary.register(ENVIRONMENT, provider)) {
                assertThatThrownBy(() -> PluginLibrary.register(ENVIRONMENT, provider))
                        .isInstanceOf(OnnxRuntimeException.class)
                        .hasMessageContaining("already registered under java.allocator:cpu-reference");
                assertThat(library.failures()).isZero();
            }
        }

        @Test
        void aNameIsFreeAgainAfterTheClose() throws OrtException {
            try (HostProvider provider = new HostProvider()) {
                for (int i = 0; i < 3; i++) {
                    try (PluginLibrary library = PluginLibrary.on(ENVIRONMENT)
                            .provider(provider)
                            .name("again")
                            .register()) {
                        assertThat(library.name()).isEqualTo("again");
                        assertThat(library.devices()).hasSize(1);
                    }
                }
            }
        }

        @Test
        void twoProvidersOfOneNameAreRejected() {
            assertThatThrownBy(
                            () -> PluginLibrary.register(ENVIRONMENT, FakeFactory.gpu("twin"), FakeFactory.gpu("twin")))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("[twin, twin]");
        }

        @Test
        void aLibraryHasOneToFourProviders() {
            assertThatThrownBy(() -> PluginLibrary.register(ENVIRONMENT))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("1 to 4 providers, not 0");
            assertThatThrownBy(() -> PluginLibrary.register(
                            ENVIRONMENT,
                            FakeFactory.gpu("a"),
                            FakeFactory.gpu("b"),
                            FakeFactory.gpu("c"),
                            FakeFactory.gpu("d"),
                            FakeFactory.gpu("e")))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("1 to 4 providers, not 5");
        }
    }

    @Nested
    class Options {
        @Test
        void anOptionOfNoProviderIsRejected() {
            assertThatThrownBy(() -> PluginLibrary.on(ENVIRONMENT)
                            .provider(FakeFactory.gpu("fake-gpu"))
                            .option("ep_factory.other.arena.max_mem", "1")
                            .register())
                    .isInstanceOf(InvalidOptionException.class)
                    .hasMessageContaining("ep_factory.other.arena.max_mem")
                    .hasMessageContaining("[ep_factory.fake-gpu.]");
        }

        @Test
        void anUnknownOptionIsRejectedWithTheNearestOne() {
            assertThatThrownBy(() -> PluginLibrary.on(ENVIRONMENT)
                            .provider(FakeFactory.gpu("fake-gpu"))
                            .option("ep_factory.fake-gpu.arena.max_men", "1")
                            .register())
                    .isInstanceOf(InvalidOptionException.class)
                    .hasMessageContaining("(from registration)")
                    .hasMessageContaining("did you mean arena.max_mem?");
        }
    }

    @Nested
    class Closing {
        @Test
        void aSecondCloseDoesNothing() {
            try (HostProvider provider = new HostProvider()) {
                final PluginLibrary library = PluginLibrary.register(ENVIRONMENT, provider);
                library.close();
                library.close();
                assertThatThrownBy(library::devices)
                        .isInstanceOf(IllegalStateException.class)
                        .hasMessageContaining("closed");
            }
        }

        @Test
        void aLibraryThatWasUnregisteredThroughOnnxRuntimeCanBeClosed() throws OrtException {
            try (HostProvider provider = new HostProvider()) {
                final PluginLibrary library = PluginLibrary.register(ENVIRONMENT, provider);
                ENVIRONMENT.unregisterExecutionProviderLibrary(library.name());
                assertThat(provider.references()).isZero();
                library.close();
            }
        }

        @Test
        void noFileRemains() throws IOException {
            final List<Path> before = files();
            try (HostProvider provider = new HostProvider();
                    PluginLibrary library = PluginLibrary.register(ENVIRONMENT, provider)) {
                assertThat(library.failures()).isZero();
                assertThat(files()).isEqualTo(before);
            }
            assertThatThrownBy(() -> PluginLibrary.register(ENVIRONMENT, new FakeFactory("broken").before(line -> {
                                if (line.equals("discoverDevices")) {
                                    throw new IllegalStateException("broken on purpose");
                                }
                            })))
                    .hasMessage("broken on purpose");
            assertThat(files()).isEqualTo(before);
        }
    }
}
