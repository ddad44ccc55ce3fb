package allocator.onnxruntime;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ai.onnxruntime.OrtEnvironment;
import allocator.cuda.simulated.SimulatedCudaDriver;
import allocator.provider.support.platform.Platform;
import allocator.spi.EpFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What is refused, and what is not, where failures cannot be returned to ONNX Runtime. */
class OtherPlatformsTest {
    private static final Platform MAC = new Platform("Mac OS X", "aarch64");

    private final OrtEnvironment environment = OrtEnvironment.getEnvironment();

    @ParameterizedTest
    @CsvSource({"Linux, aarch64", "Mac OS X, x86_64", "Mac OS X, aarch64", "Windows 11, amd64"})
    void gpuMemoryIsRefusedByNameAndNothingIsInstalled(String system, String processor) {
        try (SimulatedCudaDriver driver = SimulatedCudaDriver.builder().build();
                EpFactory provider = driver.provider("cuda-arena")) {
            final OnnxRuntimeAllocators.Builder builder = OnnxRuntimeAllocators.on(environment)
                    .provider("cpu-reference")
                    .gpu(GpuMemory.of(provider));
            final UnsupportedOperationException refused = assertThrows(
                    UnsupportedOperationException.class, () -> builder.install(new Platform(system, processor)));
            assertEquals(
                    "GPU memory for sessions of ONNX Runtime needs Linux on x86-64; this is " + system + " on "
                            + processor + ". Leave gpu(...) out: ONNX Runtime's own allocators serve the GPU then",
                    refused.getMessage());
            assertDoesNotThrow(() -> builder.install().close(), "an installation was left behind");
        }
    }

    @Test
    void cpuMemoryIsNotRefused() {
        try (OnnxRuntimeAllocators memory =
                OnnxRuntimeAllocators.on(environment).provider("cpu-reference").install(MAC)) {
            assertTrue(memory.bytesInUse() >= 0);
        }
    }
}
