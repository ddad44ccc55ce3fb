package allocator.cuda.resource;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.cuda.driver.CudaDriver;
import allocator.cuda.simulated.SimulatedCudaDriver;
import allocator.provider.support.budget.Budget;
import allocator.resource.FallbackResource;
import allocator.resource.MemoryResource;
import allocator.resource.ResourceAllocator;
import allocator.resource.StreamBoundResource;
import allocator.resource.budget.BudgetResource;
import allocator.resource.budget.PressureLadder;
import allocator.resource.log.LoggingResource;
import allocator.resource.log.RmmLog;
import allocator.resource.tracked.Access;
import allocator.resource.tracked.StreamPool;
import allocator.resource.tracked.TrackedBlock;
import allocator.resource.tracked.TrackedMemory;
import allocator.resource.typed.PolymorphicAllocator;
import allocator.resource.typed.TypedBuffer;
import allocator.spi.Allocator;
import allocator.spi.SyncNotification;
import allocator.spi.SyncStream;
import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The samples of {@code docs/modules/java.allocator.cuda.resource.md}, word for word. */
class ExamplesTest {
    private final SimulatedCudaDriver driver = SimulatedCudaDriver.builder().build();
    private final DeviceRuntime gpu = DeviceRuntime.of(driver, 0);

    @AfterEach
    void nothingIsLeft() {
        gpu.close();
        driver.close();
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
        assertThat(RmmLog.read(folder.resolve("log.csv"))).hasSize(2);
    }

    @Test
    void streams() {
        CudaAsyncResource async = new CudaAsyncResource(driver, 0);
        SyncStream stream = gpu.openStream();
        var floats = new PolymorphicAllocator<>(async, ValueLayout.JAVA_FLOAT).on(stream);
        long scores = floats.allocate(1000); // for later work on the stream
        floats.deallocate(scores, 1000); // after the work queued there now
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
        List<Long> spilled = new ArrayList<>();
        TrackedMemory memory = new TrackedMemory(async, events, device.child("tracked", 1 << 20));
        PressureLadder ladder = PressureLadder.NONE
                .then("reap", bytes -> memory.reap())
                .then("shrink", bytes -> async.shrink().bytesReleased())
                .then("spill", bytes -> {
                    spilled.add(bytes);
                    return 0;
                });
        MemoryResource untracked = new BudgetResource(async, device, ladder);
        SyncStream stream = gpu.openStream();
        memory.free(memory.allocate(1 << 20, stream, "gone"));
        untracked.deallocate(untracked.allocate(1 << 20), 1 << 20);
        assertThat(spilled).isEmpty();
        stream.close();
        memory.close();
        events.close();
        async.close();
    }

    @Test
    void runtime() {
        CudaDriver cuda = driver;
        long foreign = driver.streams().streamCreate(0);
        try (DeviceRuntime device = DeviceRuntime.of(cuda, 0);
                SyncStream view = device.viewStream(foreign)) {
            SyncStream stream = device.streams().acquire(); // throws StreamCapacityException if all 32 are acquired
            try (SyncNotification submitted = view.createNotification()) {
                submitted.activate();
                submitted.waitOnDevice(stream);
            }
            assertThat(stream.lastWaitedSyncId(view)).isEqualTo(1);
            device.streams().release(stream);
        }
        driver.streams().streamDestroy(0, foreign);
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
    void trackedBlocks() {
        CudaAsyncResource async = new CudaAsyncResource(driver, 0);
        CudaEvents events = new CudaEvents(driver, 0);
        TrackedMemory memory = new TrackedMemory(async, events, Budget.of("device", 1 << 30));
        try (StreamPool streams = new StreamPool(4, gpu::openStream)) {
            SyncStream stream = streams.acquire();
            TrackedBlock scores = memory.allocate(4096, stream, "scores");
            memory.launch(stream)
                    .uses(scores, Access.WRITE)
                    .run(on -> driver.memory().memsetD8Async(0, scores.address(), (byte) 0, 4096, stream.handle()));
            memory.free(scores);
            assertThat(memory.reap()).isEqualTo(4096);
            streams.release(stream);
        }
        memory.close();
        events.close();
        async.close();
    }
}
