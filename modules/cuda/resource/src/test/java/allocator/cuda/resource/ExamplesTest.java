package allocator.cuda.resource;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.cuda.driver.CudaDriver;
import allocator.cuda.simulated.SimulatedCudaDriver;
import allocator.resource.AlignedResource;
import allocator.resource.AllocatorResource;
import allocator.resource.FailureCallbackResource;
import allocator.resource.FallbackResource;
import allocator.resource.FaultInjectionResource;
import allocator.resource.FaultInjectionResource.FaultPlan;
import allocator.resource.HostResource;
import allocator.resource.LeakTrackingResource;
import allocator.resource.MemoryResource;
import allocator.resource.ResourceAllocator;
import allocator.resource.ResourceArena;
import allocator.resource.StatisticsResource;
import allocator.resource.StreamBoundResource;
import allocator.resource.budget.Budget;
import allocator.resource.budget.BudgetResource;
import allocator.resource.budget.PressureLadder;
import allocator.resource.budget.RequestBudgetResource;
import allocator.resource.log.LoggingResource;
import allocator.resource.log.RmmLog;
import allocator.resource.log.TraceLog;
import allocator.resource.tracked.Access;
import allocator.resource.tracked.DeviceRuntime;
import allocator.resource.tracked.StreamPool;
import allocator.resource.tracked.TrackedBlock;
import allocator.resource.tracked.TrackedLaunch;
import allocator.resource.tracked.TrackedMemory;
import allocator.resource.typed.PolymorphicAllocator;
import allocator.resource.typed.StreamOrderedAllocator;
import allocator.resource.typed.TypedBuffer;
import allocator.spi.Allocator;
import allocator.spi.MemoryInfo;
import allocator.spi.SyncStream;
import java.io.IOException;
import java.io.StringWriter;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The samples of {@code docs/modules/java.allocator.resource.md}, which run here as they stand there. */
class ExamplesTest {
    private final SimulatedCudaDriver driver = SimulatedCudaDriver.builder().build();
    private final HostResource host = new HostResource();
    private final StringWriter trace = new StringWriter();

    /** A stream of a driver. */
    private static final class StreamOfDriver extends CountingStream {
        private final CudaDriver driver;
        private final long handle;

        StreamOfDriver(CudaDriver driver, MemoryInfo memory) {
            super(memory);
            this.driver = driver;
            this.handle = driver.streams().streamCreate(0);
        }

        @Override
        public long handle() {
            return handle;
        }

        @Override
        public void close() {
            driver.streams().streamDestroy(0, handle);
        }
    }

    @BeforeEach
    void retain() {
        driver.devices().primaryContextRetain(0);
    }

    @AfterEach
    void nothingIsLeft() {
        host.close();
        driver.devices().primaryContextRelease(0);
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
        CudaDriver cuda = driver;
        CudaAsyncResource async = new CudaAsyncResource(cuda, 0);
        RmmLog log = RmmLog.to(folder.resolve("log.csv"));
        Budget device = Budget.ofDevice(async.memory().location());
        Budget tenant = device.child("tenant", 512 << 20);
        Allocator allocator = ResourceAllocator.of(new BudgetResource(new LoggingResource(async, log), tenant));
        allocator.free(allocator.alloc(1000));
        log.close();
        async.close();
        List<RmmLog.Entry> entries = RmmLog.read(folder.resolve("log.csv"));
        RmmLog.Replay replay = RmmLog.replay(entries, host);
        RmmLog.writeTrace(entries, trace); // to be replayed by the allocator command
        assertThat(replay.allocations()).isEqualTo(1);
        assertThat(trace.toString()).isEqualTo("op,id,bytes,stream\na,0,1000,0\nf,0,1000,0\n");
    }

    @Test
    void anAllocatorUnderAStack() {
        Allocator provided = ResourceAllocator.of(host);
        Budget tenant = Budget.of("tenant", 4096);
        TraceLog log = new TraceLog(trace);
        MemoryResource arena = new AllocatorResource(provided);
        Allocator watched = ResourceAllocator.of(new BudgetResource(new LoggingResource(arena, log), tenant));
        watched.free(watched.alloc(4096));
        assertThat(trace.toString()).contains("a,0,4096,0");
    }

    @Test
    void streams() {
        CudaAsyncResource async = new CudaAsyncResource(driver, 0);
        SyncStream stream = new StreamOfDriver(driver, async.memory());
        var floats = new StreamOrderedAllocator<>(async, ValueLayout.JAVA_FLOAT, stream);
        long scores = floats.allocate(1000); // for work on the stream from here on
        floats.deallocate(scores, 1000); // behind the work that is queued there now
        try (var buffer = new TypedBuffer<>(new StreamBoundResource(async, stream), ValueLayout.JAVA_INT, 1000)) {
            driver.memory().memsetD8Async(0, buffer.address(), (byte) 0, 4000, stream.handle());
        }
        stream.close();
        async.close();
    }

    @Test
    void pressure() {
        CudaAsyncResource async = new CudaAsyncResource(driver, 0);
        CudaEvents events = new CudaEvents(driver, 0);
        Budget device = Budget.of("device", 1 << 20);
        List<String> asked = new ArrayList<>();
        TrackedMemory memory = new TrackedMemory(async, events, device.child("tracked", 1 << 20));
        PressureLadder ladder = PressureLadder.NONE
                .then("reap", bytes -> memory.reap())
                .then("shrink", bytes -> async.shrink().bytesReleased())
                .then("spill", bytes -> {
                    asked.add("spill " + bytes);
                    return 0;
                });
        MemoryResource untracked = new BudgetResource(async, device, ladder);
        SyncStream stream = new StreamOfDriver(driver, async.memory());
        memory.free(memory.allocate(1 << 20, stream, "gone"));
        untracked.deallocate(untracked.allocate(1 << 20), 1 << 20);
        assertThat(asked).isEmpty();
        stream.close();
        memory.close();
        events.close();
        async.close();
    }

    @Test
    void runtime() {
        CudaDriver cuda = SimulatedCudaDriver.builder().build(); // stays with the process, as its runtime does
        cuda.devices().primaryContextRetain(0);
        DeviceRuntime runtime = DeviceRuntime.of(0, ordinal -> {
            CudaAsyncResource async = new CudaAsyncResource(cuda, 0);
            Budget budget = Budget.ofDevice(async.memory().location()).child("tracked", 1 << 30);
            return new DeviceRuntime(
                    new TrackedMemory(async, new CudaEvents(cuda, 0), budget),
                    new StreamPool(16, () -> new StreamOfDriver(cuda, async.memory())));
        });
        SyncStream stream = runtime.streams().acquire(); // a StreamCapacityException if 16 are out
        runtime.streams().release(stream);
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
        try (StreamPool streams = new StreamPool(4, () -> new StreamOfDriver(driver, async.memory()))) {
            SyncStream stream = streams.acquire();
            TrackedBlock scores = memory.allocate(4096, stream, "scores");
            try (TrackedLaunch launch = memory.launch(stream).uses(scores, Access.WRITE)) {
                launch.prepare();
                driver.memory().memsetD8Async(0, scores.address(), (byte) 0, 4096, stream.handle());
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
