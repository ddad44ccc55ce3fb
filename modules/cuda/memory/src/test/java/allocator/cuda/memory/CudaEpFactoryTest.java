package allocator.cuda.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import allocator.cuda.driver.CudaAvailability;
import allocator.cuda.driver.CudaDriver;
import allocator.cuda.driver.CudaFunction;
import allocator.cuda.simulated.SimulatedCudaDriver;
import allocator.spi.Allocator;
import allocator.spi.AllocatorClosedException;
import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorSnapshot;
import allocator.spi.AllocatorType;
import allocator.spi.DeviceException;
import allocator.spi.DeviceType;
import allocator.spi.EpDevice;
import allocator.spi.InvalidOptionException;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryLocation;
import allocator.spi.MemoryType;
import allocator.spi.SpiLevel;
import allocator.spi.SyncStream;
import allocator.spi.UnknownAllocatorException;
import allocator.spi.UnsupportedMemoryException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

class CudaEpFactoryTest {
    private final SimulatedGpu gpu =
            SimulatedGpu.of(SimulatedCudaDriver.builder().withDevices(2));

    @Test
    void eachOrdinalIsADeviceOfItsOwnWithThreeMemories() {
        assertThat(gpu.discoverDevices().devices()).hasSize(2);
        final EpDevice second = gpu.discoverDevices().devices().get(1);
        assertThat(second.hardware().vendorId()).isEqualTo(0x10DE);
        assertThat(second.memoryInfos())
                .extracting(MemoryInfo::name)
                .containsExactly("Cuda", "CudaPinned", "CudaReadOnly");
        assertThat(second.memoryInfos()).allSatisfy(info -> {
            assertThat(info.deviceType()).isEqualTo(DeviceType.GPU);
            assertThat(info.deviceOrdinal()).isEqualTo(1);
            assertThat(info.location().vendorId()).isEqualTo(0x10DE);
        });
        assertThat(gpu.discoverDevices()).isSameAs(gpu.discoverDevices());
        gpu.close();
    }

    @Test
    void lookingForDevicesMakesNoContext() {
        assertThat(gpu.driver.controls().calls(CudaFunction.DEVICE_PRIMARY_CTX_RETAIN))
                .isZero();
        gpu.close();
    }

    @Test
    void oneMemoryIsServedByOneInstanceUntilTheLastReferenceIsBack() {
        final DriverPool first = gpu.pool();
        final DriverPool second = gpu.pool("arena.max_mem", "4096");
        assertThat(second).isSameAs(first);
        assertThat(second.effectiveOptions().value("arena.max_mem")).isEqualTo("0");
        gpu.releaseAllocator(first);
        second.free(second.alloc(256));
        gpu.releaseAllocator(second);
        assertThatExceptionOfType(AllocatorClosedException.class).isThrownBy(() -> second.alloc(256));
        assertThatExceptionOfType(UnknownAllocatorException.class).isThrownBy(() -> gpu.releaseAllocator(second));
        final DriverPool third = gpu.pool();
        assertThat(third).isNotSameAs(first);
        gpu.releaseAllocator(third);
        gpu.close();
    }

    @Test
    void anExclusiveInstanceIsSharedWithNobody() {
        final DriverPool shared = gpu.pool();
        final DriverPool own = gpu.pool("arena.exclusive", "1");
        assertThat(own).isNotSameAs(shared);
        assertThat(gpu.pool()).isSameAs(shared);
        gpu.releaseAllocator(own);
        gpu.releaseAllocator(shared);
        gpu.releaseAllocator(shared);
        gpu.close();
    }

    @Test
    void readOnlyMemoryIsNeverShared() {
        final DeviceMemory first = gpu.raw();
        final DeviceMemory second = gpu.raw();
        assertThat(first).isNotSameAs(second);
        gpu.releaseAllocator(first);
        gpu.releaseAllocator(second);
        gpu.close();
    }

    @Test
    void identicalDevicesShareNothing() {
        final Allocator first = gpu.createAllocator(gpu.device(0), AllocatorOptions.EMPTY);
        final Allocator second = gpu.createAllocator(gpu.device(1), AllocatorOptions.EMPTY);
        assertThat(first).isNotSameAs(second);
        final long address = second.alloc(1 << 20);
        assertThat(gpu.driver.memory().memGetInfo(0).freeByteSize())
                .isEqualTo(gpu.driver.memory().memGetInfo(0).totalByteSize());
        assertThat(gpu.driver.memory().memGetInfo(1).freeByteSize())
                .isLessThan(gpu.driver.memory().memGetInfo(1).totalByteSize());
        gpu.releaseAllocator(first);
        second.free(address);
        gpu.releaseAllocator(second);
        gpu.close();
    }

    @Test
    void whatIsNotServedIsRefused() {
        final MemoryLocation location = new MemoryLocation(DeviceType.GPU, 0x10DE, 2, MemoryType.DEFAULT);
        final MemoryInfo third = new MemoryInfo("Cuda", location, 256, AllocatorType.DEVICE);
        assertThatExceptionOfType(UnsupportedMemoryException.class)
                .isThrownBy(() -> gpu.createAllocator(third, AllocatorOptions.EMPTY));
        assertThatExceptionOfType(UnsupportedMemoryException.class).isThrownBy(() -> gpu.createSyncStream(third));
        assertThatExceptionOfType(UnsupportedMemoryException.class)
                .isThrownBy(() -> gpu.createSyncStream(gpu.pinned(0)));
        assertThat(gpu.isStreamAware(gpu.device(1))).isTrue();
        assertThat(gpu.isStreamAware(gpu.pinned(1))).isFalse();
        assertThatExceptionOfType(InvalidOptionException.class)
                .isThrownBy(() -> gpu.createAllocator(
                        gpu.device(0), AllocatorOptions.of(Map.of("arena.max_men", "1"), "session")))
                .withMessageContaining("arena.max_mem");
        gpu.close();
    }

    @Test
    void aFactoryInUseStaysOpen() {
        final DriverPool pool = gpu.pool();
        final SyncStream stream = gpu.stream();
        assertThatIllegalStateException().isThrownBy(gpu::close).withMessageContaining("1 allocators and 1 streams");
        pool.free(pool.alloc(1));
        gpu.releaseAllocator(pool);
        assertThatIllegalStateException().isThrownBy(gpu::close);
        stream.close();
        gpu.close();
        gpu.close();
        assertThatExceptionOfType(AllocatorClosedException.class).isThrownBy(gpu::stream);
        assertThatExceptionOfType(AllocatorClosedException.class).isThrownBy(gpu::pool);
    }

    @Test
    void aContextThatCannotBeRetainedIsAskedForAgain() {
        gpu.driver.controls().failOnCall(CudaFunction.DEVICE_PRIMARY_CTX_RETAIN, 1, 999);
        assertThatExceptionOfType(DeviceException.class).isThrownBy(gpu::stream);
        gpu.stream().close();
        gpu.close();
    }

    @Test
    void whoComesFirstAtOnceGetsTheSame() throws InterruptedException {
        final Set<Allocator> seen = ConcurrentHashMap.newKeySet();
        final CountDownLatch start = new CountDownLatch(1);
        final Thread[] threads = new Thread[8];
        for (int i = 0; i < threads.length; i++) {
            threads[i] = Thread.ofPlatform().start(() -> {
                try {
                    start.await();
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                }
                seen.add(gpu.pool());
            });
        }
        start.countDown();
        for (Thread thread : threads) {
            thread.join();
        }
        assertThat(seen).hasSize(1);
        for (int i = 0; i < threads.length; i++) {
            gpu.releaseAllocator(seen.iterator().next());
        }
        gpu.close();
    }

    /** A factory whose allocators do what a test says when they learn of a stream. */
    private static final class Hooked extends CudaEpFactory {
        private final List<String> called = new ArrayList<>();
        private final List<CudaAllocator> made = new ArrayList<>();
        private Consumer<CudaAllocator> hook = allocator -> {};

        Hooked(CudaDriver driver) {
            super(() -> new CudaAvailability.Available(driver));
        }

        @Override
        public String name() {
            return "hooked";
        }

        @Override
        protected Choice choose(CudaDevice device, MemoryInfo info, AllocatorOptions options) {
            return new Choice(null, () -> {
                final CudaAllocator allocator = new HookedAllocator(this, info);
                made.add(allocator);
                return allocator;
            });
        }

        MemoryInfo memory() {
            return discoverDevices().devices().getFirst().defaultMemory().orElseThrow();
        }
    }

    private static final class HookedAllocator implements CudaAllocator {
        private final Hooked factory;
        private final MemoryInfo info;
        private boolean isClosed;

        HookedAllocator(Hooked factory, MemoryInfo info) {
            this.factory = factory;
            this.info = info;
        }

        @Override
        public long alloc(long byteSize) {
            return 0;
        }

        @Override
        public void free(long address) {}

        @Override
        public MemoryInfo info() {
            return info;
        }

        @Override
        public int spiLevel() {
            return SpiLevel.STREAMS;
        }

        @Override
        public AllocatorSnapshot inspect() {
            return AllocatorSnapshot.EMPTY;
        }

        private void call(String what) {
            factory.called.add(what);
            if (isClosed) {
                throw new AllocatorClosedException("closed");
            }
            factory.hook.accept(this);
        }

        @Override
        public void endRun(SyncStream stream) {
            call("run");
        }

        @Override
        public void releaseStream(SyncStream stream) {
            call("stream");
        }

        @Override
        public boolean isClosed() {
            return isClosed;
        }

        @Override
        public void destroy() {
            isClosed = true;
        }
    }

    /** As where sessions of two providers use one GPU. */
    @Test
    void theEndsOfAStreamAreReportedToAnAllocatorOfAnotherFactory() {
        final Hooked factory = new Hooked(gpu.driver);
        final Hooked other = new Hooked(gpu.driver);
        final CudaSyncStream stream = (CudaSyncStream) factory.createSyncStream(factory.memory());
        other.createAllocator(other.memory(), AllocatorOptions.EMPTY);
        other.createAllocator(other.memory(), AllocatorOptions.EMPTY);
        other.made.forEach(stream::usedBy);
        stream.onSessionRunEnd();
        assertThat(other.called).containsExactly("run", "run");
        other.releaseAllocator(other.made.getFirst());
        stream.close();
        assertThat(other.called).containsExactly("run", "run", "stream");
        other.releaseAllocator(other.made.getLast());
        factory.close();
        other.close();
        gpu.close();
    }

    @Nested
    class AReport {
        private final Hooked factory = new Hooked(gpu.driver);
        private final CudaSyncStream stream = (CudaSyncStream) factory.createSyncStream(factory.memory());

        @BeforeEach
        void createTwo() {
            factory.createAllocator(factory.memory(), AllocatorOptions.EMPTY);
            factory.createAllocator(factory.memory(), AllocatorOptions.EMPTY);
            factory.made.forEach(stream::usedBy);
        }

        @AfterEach
        void closeAll() {
            factory.hook = allocator -> {};
            stream.close();
            factory.close();
            gpu.close();
        }

        private void release(CudaAllocator allocator) {
            factory.releaseAllocator(allocator);
            factory.made.remove(allocator);
        }

        @Test
        void ofAStreamDoesNotFailBecauseAnotherThreadReleasesAnAllocator() {
            factory.hook = allocator -> release(
                    allocator.equals(factory.made.getFirst()) ? factory.made.getLast() : factory.made.getFirst());
            stream.onSessionRunEnd();
            assertThat(factory.called).containsExactly("run", "run");
            release(factory.made.getFirst());
        }

        @Test
        void doesNotReachAllocatorsThatHaveNotUsedTheStream() {
            factory.createAllocator(factory.memory(), AllocatorOptions.EMPTY);
            stream.onSessionRunEnd();
            assertThat(factory.called).containsExactly("run", "run");
            List.copyOf(factory.made).forEach(this::release);
            stream.onSessionRunEnd();
            assertThat(factory.called).containsExactly("run", "run");
        }

        @Test
        void reachesEveryAllocatorWhateverOneThrows() {
            factory.hook = allocator -> {
                throw new AssertionError("injected");
            };
            assertThatExceptionOfType(AssertionError.class).isThrownBy(stream::onSessionRunEnd);
            assertThat(factory.called).containsExactly("run", "run");
            assertThatExceptionOfType(AssertionError.class).isThrownBy(stream::close);
            assertThat(factory.called).containsExactly("run", "run", "stream", "stream");
            List.copyOf(factory.made).forEach(this::release);
        }
    }
}
