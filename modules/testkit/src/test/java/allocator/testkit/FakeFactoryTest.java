package allocator.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.spi.Allocator;
import allocator.spi.AllocatorOptions;
import allocator.spi.DeviceType;
import allocator.spi.InvalidOptionException;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryType;
import allocator.spi.SyncStream;
import allocator.spi.UnknownAllocatorException;
import allocator.spi.UnsupportedMemoryException;
import java.util.Map;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

class FakeFactoryTest {
    private static final MemoryInfo CUDA = FakeMemory.memory("Cuda", DeviceType.GPU, 0, MemoryType.DEFAULT);
    private static final MemoryInfo READ_ONLY = FakeMemory.readOnly("CudaReadOnly", DeviceType.GPU, 0);

    private final FakeFactory factory = FakeFactory.gpu("Fake");

    private Allocator create(MemoryInfo info, Map<String, String> settings) {
        return factory.createAllocator(info, AllocatorOptions.of(settings, "test"));
    }

    @Nested
    class Allocators {
        @Test
        void areSharedUnlessTheyAreReadOnlyOrExclusive() {
            final Allocator shared = create(CUDA, Map.of());
            assertThat(create(CUDA, Map.of())).isSameAs(shared).isSameAs(factory.shared(CUDA));
            assertThat(create(CUDA, Map.of("arena.exclusive", "1"))).isNotSameAs(shared);
            assertThat(create(READ_ONLY, Map.of())).isNotSameAs(create(READ_ONLY, Map.of()));
            assertThat(factory.created()).hasSize(4);
            assertThat(factory.references()).isEqualTo(5);
        }

        @Test
        void areClosedWithTheirLastReference() {
            final Allocator allocator = create(CUDA, Map.of());
            create(CUDA, Map.of());
            factory.releaseAllocator(allocator);
            assertThat(factory.last().isClosed()).isFalse();
            factory.releaseAllocator(allocator);
            assertThat(factory.last().isClosed()).isTrue();
            assertThatThrownBy(() -> factory.releaseAllocator(allocator)).isInstanceOf(UnknownAllocatorException.class);
        }

        @Test
        void needKnownMemoryAndValidOptions() {
            assertThatThrownBy(() -> create(FakeDevice.INFO, Map.of())).isInstanceOf(UnsupportedMemoryException.class);
            assertThatThrownBy(() -> create(CUDA, Map.of("no", "1"))).isInstanceOf(InvalidOptionException.class);
            assertThat(factory.references()).isZero();
        }

        @Test
        void canBeReplacedOnTheWayToTheCaller() {
            final Allocator other = new ConstantAllocator(CUDA);
            factory.returned(allocator -> other);
            assertThat(create(CUDA, Map.of())).isSameAs(other);
            factory.releaseAllocator(other);
            assertThat(factory.references()).isZero();
        }
    }

    @Nested
    class Streams {
        @Test
        void haveLinesInTheLog() {
            final SyncStream stream = factory.createSyncStream(CUDA);
            stream.onSessionRunEnd();
            stream.close();
            assertThat(factory.log()).containsExactly("createSyncStream", "run end", "close stream");
            assertThat(factory.streams()).singleElement().isSameAs(stream);
            assertThat(stream.handle()).isZero();
        }

        @Test
        void areNotMadeIfThereAreNone() {
            factory.streamAware(false);
            assertThat(factory.isStreamAware(CUDA)).isFalse();
            assertThatThrownBy(() -> factory.createSyncStream(CUDA)).isInstanceOf(UnsupportedMemoryException.class);
        }
    }

    @Nested
    class Closing {
        @Test
        void failsWhileAReferenceOrAStreamIsOut() {
            final Allocator allocator = create(CUDA, Map.of());
            assertThatIllegalStateException().isThrownBy(factory::close);
            factory.releaseAllocator(allocator);
            final SyncStream stream = factory.createSyncStream(CUDA);
            assertThatIllegalStateException().isThrownBy(factory::close);
            stream.close();
            factory.close();
            assertThat(factory.isClosed()).isTrue();
        }
    }

    @Test
    void theHookCanFailAnyCall() {
        factory.before(Faults.on("create Cuda", new IllegalStateException("injected")));
        assertThatIllegalStateException().isThrownBy(() -> create(CUDA, Map.of()));
        assertThat(factory.created()).isEmpty();
        assertThat(factory.log()).containsExactly("create Cuda (gpu:0)");
    }

    @Test
    void withoutDevicesTheReasonIsReported() {
        assertThat(new FakeFactory("None").discoverDevices().devices()).isEmpty();
        assertThat(factory.discoverDevices().devices()).isEqualTo(factory.devices());
    }
}
