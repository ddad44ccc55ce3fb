package allocator.onnxruntime.ep;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import ai.onnxruntime.OrtEnvironment;
import allocator.onnxruntime.OnnxRuntimeException;
import allocator.onnxruntime.OnnxRuntimeLibrary;
import allocator.onnxruntime.support.OrtAllocatorLayout;
import allocator.onnxruntime.support.ThrowingThunk;
import allocator.spi.Allocator;
import allocator.spi.AllocatorStats;
import allocator.spi.InvalidOptionException;
import allocator.spi.MemoryInfo;
import allocator.spi.OutOfMemoryException;
import allocator.testkit.FakeAllocator;
import allocator.testkit.FakeFactory;
import java.util.Map;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The allocators that ONNX Runtime's environment shares, through ONNX Runtime's C API. */
class AllocatorsTest {
    private static final OrtEnvironment ENVIRONMENT = OrtEnvironment.getEnvironment();

    private final HostProvider provider = new HostProvider();
    private PluginLibrary library = null;
    private long device;
    private long allocator;

    @BeforeEach
    void register() {
        library = PluginLibrary.on(ENVIRONMENT)
                .provider(provider)
                .option("ep_factory.cpu-reference.arena.initial_chunk_size_bytes", "65536")
                .register();
        device = NativeOrt.device(HostProvider.NAME);
        allocator = NativeOrt.sharedAllocator(NativeOrt.memoryInfo(device, NativeOrt.DEFAULT));
    }

    @AfterEach
    void close() {
        library.close();
        assertThat(provider.references()).isZero();
        provider.close();
    }

    private AllocatorStats stats() {
        return provider.last().allocator().stats();
    }

    @Nested
    class Blocks {
        @Test
        void allocationsAndFreesReachTheProvider() {
            final long block = NativeOrt.alloc(allocator, 1000);
            assertThat(block % 256).isZero();
            assertThat(stats().requestedBytesInUse()).isEqualTo(1000);
            assertThat(library.liveBlocks()).isOne();
            NativeOrt.free(allocator, block);
            assertThat(stats().requestedBytesInUse()).isZero();
            assertThat(library.liveBlocks()).isZero();
        }

        @Test
        void aReserveIsAReserve() {
            final long block = NativeOrt.callMember(allocator, OrtAllocatorLayout.RESERVE, 5000);
            assertThat(stats().numReserves()).isOne();
            NativeOrt.free(allocator, block);
            assertThat(library.liveBlocks()).isZero();
        }

        @Test
        void anEmptyBlockIsNone() {
            NativeOrt.free(allocator, NativeOrt.alloc(allocator, 0));
            NativeOrt.free(allocator, 0);
            assertThat(stats().numAllocs()).isZero();
            assertThat(library.failures()).isZero();
        }

        @Test
        void aForeignAddressIsIgnoredAndReported() {
            final long block = NativeOrt.alloc(allocator, 1000);
            NativeOrt.free(allocator, block + 8);
            assertThat(library.takeFailure().orElseThrow().callback()).isEqualTo("OrtAllocator::Free");
            assertThat(library.liveBlocks()).isOne();
            NativeOrt.free(allocator, block);
        }

        @Test
        void aLiveBlockKeepsTheLibrary() {
            final long block = NativeOrt.alloc(allocator, 1000);
            assertThatThrownBy(library::close)
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("1 live block (close its tensors and results)");
            NativeOrt.free(allocator, block);
        }
    }

    @Nested
    class Statistics {
        @Test
        void onnxRuntimeReadsTheStatistics() {
            final long block = NativeOrt.alloc(allocator, 1000);
            assertThat(NativeOrt.stats(allocator))
                    .containsEntry("RequestedInUse", "1000")
                    .containsEntry("NumAllocs", "1");
            NativeOrt.free(allocator, block);
        }
    }

    @Nested
    class Shrinking {
        @Test
        void aShrinkReachesTheArena() {
            assumeTrue(OnnxRuntimeLibrary.apiVersion() >= 25, "ONNX Runtime shrinks plug-in allocators from 1.25 on");
            NativeOrt.free(allocator, NativeOrt.alloc(allocator, 1000));
            final long big = NativeOrt.alloc(allocator, 1 << 20);
            NativeOrt.free(allocator, big);
            final long before = stats().bytesHeld();
            NativeOrt.shrink(allocator);
            assertThat(stats().bytesHeld()).isLessThan(before);
            assertThat(stats().numArenaShrinkages()).isPositive();
        }
    }

    @Nested
    class Settings {
        @Test
        void theRegistrationsOptionsApplyToTheSharedAllocator() {
            final AllocatorStats empty = stats();
            NativeOrt.free(allocator, NativeOrt.alloc(allocator, 1000));
            assertThat(empty.bytesHeld()).isZero();
            assertThat(stats().bytesHeld()).isEqualTo(65536);
        }

        @Test
        void optionsByKeyReplaceThem() {
            final long replaced = NativeOrt.createSharedAllocator(
                    device, NativeOrt.DEFAULT, Map.of("arena.initial_chunk_size_bytes", "25600"));
            NativeOrt.free(replaced, NativeOrt.alloc(replaced, 1000));
            assertThat(stats().bytesHeld()).isEqualTo(25600);
            assertThat(provider.references()).isOne();
        }

        @Test
        void anInvalidOptionIsRejectedByItsName() {
            assertThatThrownBy(() -> NativeOrt.createSharedAllocator(
                            device, NativeOrt.DEFAULT, Map.of("arena.initial_chunk_size_bytes", "many")))
                    .isInstanceOf(OnnxRuntimeException.class)
                    .hasMessageContaining("arena.initial_chunk_size_bytes='many'");
            assertThat(library.takeFailure().orElseThrow().cause()).isInstanceOf(InvalidOptionException.class);
        }

        @Test
        void aLimitIsAnErrorOfOnnxRuntimeWithItsCause() {
            assumeTrue(ThrowingThunk.isSupported(), "failures cannot be returned to ONNX Runtime on this system");
            final long limited =
                    NativeOrt.createSharedAllocator(device, NativeOrt.DEFAULT, Map.of("arena.max_mem", "1048576"));
            assertThatThrownBy(() -> NativeOrt.alloc(limited, 2 << 20))
                    .isInstanceOf(OnnxRuntimeException.class)
                    .hasMessageContaining("an allocator of cpu-reference cannot allocate");
            final CallbackFailure failure = library.takeFailure().orElseThrow();
            assertThat(failure.callback()).isEqualTo("OrtAllocator::Alloc");
            assertThat(failure.cause()).isInstanceOf(OutOfMemoryException.class);
            NativeOrt.free(limited, NativeOrt.alloc(limited, 1000));
        }

        @Test
        void aReleaseReturnsTheReference() {
            assertThat(provider.references()).isOne();
            NativeOrt.releaseSharedAllocator(device, NativeOrt.DEFAULT);
            assertThat(provider.references()).isZero();
        }
    }

    @Nested
    class Levels {
        private long shared(UnaryOperator<Allocator> change, PluginLibrary[] made) {
            final FakeFactory fake = FakeFactory.gpu("fake-gpu").returned(change);
            made[0] = PluginLibrary.register(ENVIRONMENT, fake);
            return NativeOrt.sharedAllocator(NativeOrt.memoryInfo(NativeOrt.device("fake-gpu"), NativeOrt.DEFAULT));
        }

        @ParameterizedTest
        @CsvSource({"1, 0, 0, 0, 0", "18, 1, 0, 0, 0", "23, 1, 1, 1, 0", "25, 1, 1, 1, 1"})
        void aStructHasTheMembersOfItsLevel(int level, int reserve, int stats, int onStream, int shrink) {
            final PluginLibrary[] made = new PluginLibrary[1];
            final long low = shared(allocator -> ((FakeAllocator) allocator).spiLevel(level), made);
            try (PluginLibrary other = made[0]) {
                assertThat(other.failures()).isZero();
                assertThat(NativeOrt.version(low)).isEqualTo(Math.min(level, OnnxRuntimeLibrary.apiVersion()));
                assertThat(NativeOrt.member(low, OrtAllocatorLayout.RESERVE) != 0)
                        .isEqualTo(reserve == 1);
                assertThat(NativeOrt.member(low, OrtAllocatorLayout.GET_STATS) != 0)
                        .isEqualTo(stats == 1);
                assertThat(NativeOrt.member(low, OrtAllocatorLayout.ALLOC_ON_STREAM) != 0)
                        .isEqualTo(onStream == 1);
                assertThat(NativeOrt.member(low, OrtAllocatorLayout.SHRINK) != 0)
                        .isEqualTo(shrink == 1 && OnnxRuntimeLibrary.apiVersion() >= 25);
            }
        }

        @Test
        void anAllocatorThatCannotShrinkHasNoShrink() {
            final PluginLibrary[] made = new PluginLibrary[1];
            final long plain = shared(allocator -> new Plain(allocator.info()), made);
            try (PluginLibrary other = made[0]) {
                assertThat(other.failures()).isZero();
                assertThat(NativeOrt.member(plain, OrtAllocatorLayout.SHRINK)).isZero();
                assertThat(NativeOrt.member(plain, OrtAllocatorLayout.ALLOC_ON_STREAM))
                        .isZero();
            }
        }

        private static final class Plain extends FakeAllocator {
            Plain(MemoryInfo info) {
                super(info);
            }
        }
    }
}
