package allocator.resource;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.cuda.driver.CudaDriver;
import allocator.cuda.driver.simulated.SimulatedCudaDriver;
import allocator.resource.FaultInjectionResource.FaultPlan;
import allocator.resource.cuda.CudaAsyncResource;
import allocator.resource.cuda.CudaDeviceResource;
import allocator.resource.cuda.CudaEvents;
import allocator.resource.cuda.CudaPinnedResource;
import allocator.resource.cuda.CudaUnifiedResource;
import allocator.spi.Allocator;
import allocator.spi.SyncStream;
import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.Objects;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The samples of {@code docs/modules/java.allocator.resource.md}, which run here as they stand there. */
class ExamplesTest {
    private final SimulatedCudaDriver driver = SimulatedCudaDriver.builder().build();
    private final HostResource host = new HostResource();

    @BeforeEach
    void retain() {
        driver.primaryContextRetain(0);
    }

    @AfterEach
    void nothingIsLeft() {
        host.close();
        driver.primaryContextRelease(0);
        driver.close();
    }

    @Test
    void hostMemory() {
        try (HostResource resource = new HostResource()) {
            long address = resource.allocate(1000, 64);
            resource.deallocate(address, 1000, 64);
        }
    }

    @Test
    void arena() {
        try (ResourceArena arena = ResourceArena.ofConfined(host)) {
            var numbers = arena.allocateFrom(ValueLayout.JAVA_INT, 1, 2, 3);
            assertThat(numbers.byteSize()).isEqualTo(12);
        }
    }

    @Test
    void typed() {
        var floats = new PolymorphicAllocator<>(host, ValueLayout.JAVA_FLOAT);
        long address = floats.allocate(1000);
        floats.deallocate(address, 1000);
    }

    @Test
    void buffer() {
        try (var buffer = new TypedBuffer<>(host, ValueLayout.JAVA_INT, 3)) {
            buffer.segment().setAtIndex(ValueLayout.JAVA_INT, 2, 7);
            buffer.resize(1000);
            assertThat(buffer.segment().getAtIndex(ValueLayout.JAVA_INT, 2)).isEqualTo(7);
        }
    }

    @Test
    void stackForASession(@TempDir Path folder) throws IOException {
        CudaAsyncResource async = new CudaAsyncResource(driver, 0);
        RmmLog log = RmmLog.to(folder.resolve("log.csv"));
        Budget device = Budget.ofDevice(async.memory().location());
        Budget tenant = device.child("tenant", 512 << 20);
        Allocator allocator = ResourceAllocator.of(new BudgetResource(new LoggingResource(async, log), tenant));
        allocator.free(allocator.alloc(1000));
        log.close();
        async.close();
        assertThat(RmmLog.replay(RmmLog.read(folder.resolve("log.csv")), host).allocations())
                .isEqualTo(1);
    }

    @Test
    void cudaMemory() {
        CudaDriver cuda = driver;
        MemoryResource device = new CudaDeviceResource(cuda, 0);
        MemoryResource pinned = new CudaPinnedResource(cuda, 0);
        MemoryResource spilling = new FallbackResource(device, new CudaUnifiedResource(cuda, 0));
        spilling.deallocate(spilling.allocate(1 << 20), 1 << 20);
        pinned.deallocate(pinned.allocate(4096), 4096);
    }

    @Test
    void reservation() {
        Budget device = Budget.of("device", 1000);
        try (Budget weights = Objects.requireNonNull(device.tryReserve("weights", 600))) {
            MemoryResource resource = new BudgetResource(host, weights);
            resource.deallocate(resource.allocate(600), 600);
        }
        assertThat(device.status().available()).isEqualTo(1000);
    }

    @Test
    void requests() {
        RequestBudgetResource resource = new RequestBudgetResource(host);
        Budget request = Budget.of("request 7", 64 << 20);
        ScopedValue.where(RequestBudgetResource.CURRENT, request)
                .run(() -> resource.deallocate(resource.allocate(100), 100));
        assertThat(request.status().peakCharge()).isEqualTo(100);
    }

    @Test
    void observation() {
        StatisticsResource counted = new StatisticsResource(host);
        LeakTrackingResource tracked = LeakTrackingResource.sampled(counted, 128);
        counted.push();
        tracked.deallocate(tracked.allocate(100), 100);
        assertThat(counted.pop().peakBytes()).isEqualTo(100);
        assertThat(tracked.report().blocks()).isZero();
    }

    @Test
    void failures() {
        MemoryResource flaky = new FaultInjectionResource(host, FaultPlan.onRequest(1));
        MemoryResource retrying = new FailureCallbackResource(flaky, 3, (failure, attempt) -> attempt < 2);
        MemoryResource aligned = new AlignedResource(retrying, 4096);
        aligned.deallocate(aligned.allocate(100), 100);
    }

    @Test
    void trackedBlocks() {
        CudaAsyncResource async = new CudaAsyncResource(driver, 0);
        CudaEvents events = new CudaEvents(driver, 0);
        TrackedMemory memory = new TrackedMemory(async, events, Budget.of("device", 1 << 30));
        try (StreamPool streams = new StreamPool(4, () -> new CountingStream(async.memory()) {
            private final long handle = driver.streamCreate(0);

            @Override
            public long handle() {
                return handle;
            }

            @Override
            public void close() {
                driver.streamDestroy(0, handle);
            }
        })) {
            SyncStream stream = streams.acquire();
            TrackedBlock scores = memory.allocate(4096, stream, "scores");
            try (TrackedMemory.Launch launch = memory.launch(stream).uses(scores, Access.WRITE)) {
                launch.prepare();
                driver.memsetD8Async(0, scores.address(), (byte) 0, 4096, stream.handle());
                launch.commit();
            }
            memory.free(scores);
            assertThat(memory.reap()).isEqualTo(4096);
            streams.release(stream);
        }
        memory.close();
        events.close();
        async.close();
    }
}
