package allocator.cpu.reference;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import allocator.provider.support.platform.Platform;
import allocator.spi.Allocator;
import allocator.spi.AllocatorOptions;
import allocator.spi.EpFactory;
import allocator.spi.MemoryInfo;
import allocator.spi.UnsupportedMemoryException;
import java.util.Map;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What is refused, and what is not, elsewhere than on the platform of these tests. */
class OtherPlatformsTest {
    private static final AllocatorOptions COMPACT =
            AllocatorOptions.of(Map.of("arena.policy", "compact"), AllocatorOptions.EXPLICIT);

    private static MemoryInfo memory(EpFactory factory) {
        return factory.discoverDevices().devices().getFirst().defaultMemory().orElseThrow();
    }

    @ParameterizedTest
    @CsvSource({"Mac OS X, x86_64", "Mac OS X, aarch64", "Windows 11, amd64", "FreeBSD, amd64"})
    void compactIsRefusedByNameAndTheDefaultWorks(String system, String processor) {
        try (EpFactory factory = new CpuReferenceFactory(Heap.NATIVE, new Platform(system, processor))) {
            assertThatExceptionOfType(UnsupportedMemoryException.class)
                    .isThrownBy(() -> factory.createAllocator(memory(factory), COMPACT))
                    .withMessageContainingAll(
                            "arena.policy=compact for memory of the host needs Linux",
                            "this is " + system + " on " + processor,
                            "arena.policy=best-fit, the default, works here");

            final Allocator allocator = factory.createAllocator(memory(factory), AllocatorOptions.EMPTY);
            assertThat(allocator.effectiveOptions().value("arena.policy")).isEqualTo("best-fit");
            allocator.free(allocator.alloc(1000));
            factory.releaseAllocator(allocator);
        }
    }

    /** Without room for a page there is no policy {@code compact}, whatever the platform. */
    @ParameterizedTest
    @CsvSource({"Linux, amd64", "Linux, aarch64", "Linux, riscv64"})
    void linuxHasPages(String system, String processor) {
        try (EpFactory factory = new CpuReferenceFactory(Heap.NATIVE, new Platform(system, processor))) {
            final Allocator allocator = factory.createAllocator(memory(factory), COMPACT);
            assertThat(allocator.effectiveOptions().value("arena.policy")).isEqualTo("compact");
            factory.releaseAllocator(allocator);
        }
    }

    @ParameterizedTest
    @CsvSource({"Linux, arm", "Windows 10, x86"})
    void lessThan64BitsAreRefusedByName(String system, String processor) {
        try (EpFactory factory = new CpuReferenceFactory(Heap.NATIVE, new Platform(system, processor))) {
            for (final MemoryInfo memory :
                    factory.discoverDevices().devices().getFirst().memoryInfos()) {
                assertThatExceptionOfType(UnsupportedMemoryException.class)
                        .isThrownBy(() -> factory.createAllocator(memory, AllocatorOptions.EMPTY))
                        .withMessageContainingAll("a processor of 64 bits", "this is " + system + " on " + processor);
            }
        }
    }
}
