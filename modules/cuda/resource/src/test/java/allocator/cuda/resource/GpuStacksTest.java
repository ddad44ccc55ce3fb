package allocator.cuda.resource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.cuda.driver.CudaAvailability;
import allocator.cuda.driver.CudaDriver;
import allocator.cuda.driver.CudaDrivers;
import allocator.provider.support.budget.Budget;
import allocator.resource.MemoryResource;
import allocator.resource.StatisticsResource;
import allocator.resource.StreamOrderedMemoryResource;
import allocator.resource.budget.BudgetResource;
import allocator.resource.leak.LeakTrackingResource;
import allocator.resource.log.LoggingResource;
import allocator.resource.log.RmmLog;
import allocator.resource.tracked.Access;
import allocator.resource.tracked.TrackedBlock;
import allocator.resource.tracked.TrackedLaunch;
import allocator.resource.tracked.TrackedMemory;
import allocator.spi.OutOfMemoryException;
import allocator.testkit.Gpu;
import java.io.StringWriter;
import java.lang.foreign.Arena;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Stacks of resources on a real GPU. */
class GpuStacksTest {
    private static final long MIB = 1 << 20;

    private CudaDriver driver;

    @BeforeEach
    void findDevice() {
        driver = switch (CudaDrivers.probe()) {
            case CudaAvailability.Available available -> available.driver();
            case CudaAvailability.Unavailable unavailable -> throw Gpu.absent(unavailable.reason());
        };
        driver.devices().primaryContextRetain(0);
    }

    @AfterEach
    void release() {
        if (driver != null) {
            driver.devices().primaryContextRelease(0);
        }
    }

    @Test
    void everyKindAllocatesAndRunsOut() {
        for (MemoryResource resource : List.of(
                new CudaDeviceResource(driver, 0), new CudaPinnedResource(driver, 0),
                new CudaUnifiedResource(driver, 0), new CudaAsyncResource(driver, 0))) {
            try (resource) {
                long address = resource.allocate(MIB);
                driver.memory().memsetD8(0, address, (byte) 7, MIB);
                driver.devices().ctxSynchronize(0);
                resource.deallocate(address, MIB);
            }
        }
        assertThatThrownBy(() -> new CudaDeviceResource(driver, 0).allocate(1L << 45))
                .isInstanceOf(OutOfMemoryException.class);
    }

    @Test
    void aWholeStackServesStreamOrderedMemory() {
        try (CudaAsyncResource async = new CudaAsyncResource(driver, 0);
                DriverStream stream = new DriverStream(driver, async.memory())) {
            StatisticsResource counted =
                    new StatisticsResource(new LoggingResource(async, new RmmLog(new StringWriter())));
            LeakTrackingResource tracked = LeakTrackingResource.full(counted);
            StreamOrderedMemoryResource stack = new BudgetResource(tracked, Budget.of("device", 100 * MIB));
            for (int i = 1; i <= 1000; i++) {
                long address = stack.allocate(i * 1000L, 256, stream);
                driver.memory().memsetD8Async(0, address, (byte) i, i * 1000L, stream.handle());
                stack.deallocate(address, i * 1000L, 256, stream);
            }
            assertThatThrownBy(() -> stack.allocate(101 * MIB, 256, stream)).isInstanceOf(OutOfMemoryException.class);
            stream.flush();
            assertThat(tracked.report().blocks()).isZero();
            assertThat(counted.statistics().totalBlocks()).isEqualTo(1000);
            async.shrink();
            assertThat(async.shrink().bytesHeld()).isZero();
        }
    }

    /** A read returns what was written last, however streams overlap: 20,000 random steps on four streams. */
    @Test
    void trackedBlocksKeepTheirValuesOverStreams() {
        CudaAsyncResource async = new CudaAsyncResource(driver, 0);
        CudaEvents events = new CudaEvents(driver, 0);
        TrackedMemory memory = new TrackedMemory(async, events, Budget.of("device", 256 * MIB));
        List<DriverStream> streams = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            streams.add(new DriverStream(driver, async.memory()));
        }
        SplittableRandom random = new SplittableRandom(5);
        List<TrackedBlock> blocks = new ArrayList<>();
        List<Integer> values = new ArrayList<>();
        for (int step = 0; step < 20_000; step++) {
            DriverStream stream = streams.get(random.nextInt(4));
            int kind = random.nextInt(8);
            if (blocks.isEmpty() || (blocks.size() < 20 && kind < 4)) {
                TrackedBlock block = memory.allocate(MIB + random.nextInt(1 << 20), stream, "step " + step);
                write(memory, block, step % 100, stream);
                blocks.add(block);
                values.add(step % 100);
            } else if (kind < 6) {
                int source = random.nextInt(blocks.size());
                int target = random.nextInt(blocks.size());
                if (source != target) {
                    copy(memory, blocks.get(source), blocks.get(target), stream);
                    values.set(target, values.get(source));
                }
            } else if (kind == 6) {
                int freed = random.nextInt(blocks.size());
                check(memory, blocks.get(freed), values.get(freed), stream);
                memory.free(blocks.remove(freed));
                values.remove(/* index */ freed);
            } else {
                memory.reap();
            }
        }
        for (int i = 0; i < blocks.size(); i++) {
            check(memory, blocks.get(i), values.get(i), streams.getFirst());
            memory.free(blocks.get(i));
        }
        assertThat(memory.reap(Duration.ofSeconds(20))).isTrue();
        memory.close();
        streams.forEach(DriverStream::close);
        events.close();
        async.close();
    }

    /** Eight threads, each with a stream, write right after an allocation; no other thread reads or overwrites that. */
    @Test
    void threadsOnTheirOwnStreamsReadTheirOwnBytes() throws Exception {
        CudaAsyncResource async = new CudaAsyncResource(driver, 0);
        CudaEvents events = new CudaEvents(driver, 0);
        TrackedMemory memory = new TrackedMemory(async, events, Budget.of("device", 256 * MIB));
        try (var threads = Executors.newFixedThreadPool(8)) {
            List<Future<?>> all = new ArrayList<>();
            for (int thread = 0; thread < 8; thread++) {
                int number = thread;
                all.add(threads.submit(() -> threeBuffersAtATime(memory, number)));
            }
            for (Future<?> one : all) {
                one.get();
            }
        }
        assertThat(memory.reap(Duration.ofSeconds(20))).isTrue();
        memory.close();
        events.close();
        async.close();
    }

    private void threeBuffersAtATime(TrackedMemory memory, int thread) {
        try (DriverStream stream = new DriverStream(driver, new CudaDeviceResource(driver, 0).memory())) {
            for (int i = 0; i < 128; i++) {
                List<TrackedBlock> blocks = new ArrayList<>();
                for (int which = 0; which < 3; which++) {
                    TrackedBlock block = memory.allocate(MIB, stream, "thread " + thread);
                    write(memory, block, thread * 16 + which, stream);
                    blocks.add(block);
                }
                for (int which = 0; which < 3; which++) {
                    check(memory, blocks.get(which), thread * 16 + which, stream);
                    memory.free(blocks.get(which));
                }
            }
        }
    }

    private void write(TrackedMemory memory, TrackedBlock block, int value, DriverStream stream) {
        memory.prepare(block, Access.WRITE, stream);
        driver.memory().memsetD8Async(0, block.address(), (byte) value, block.byteSize(), stream.handle());
        memory.finish(block, Access.WRITE, stream);
    }

    private void copy(TrackedMemory memory, TrackedBlock source, TrackedBlock target, DriverStream stream) {
        try (TrackedLaunch launch =
                memory.launch(stream).uses(source, Access.READ).uses(target, Access.WRITE)) {
            launch.prepare();
            driver.memory().memcpyDtoDAsync(0, target.address(), source.address(), MIB, stream.handle());
            launch.commit();
        }
    }

    private void check(TrackedMemory memory, TrackedBlock block, int value, DriverStream stream) {
        try (Arena arena = Arena.ofConfined()) {
            var host = arena.allocate(MIB);
            memory.prepare(block, Access.READ, stream);
            driver.memory().memcpyDtoHAsync(0, host.address(), block.address(), MIB, stream.handle());
            memory.finish(block, Access.READ, stream);
            stream.flush();
            assertThat(host.get(ValueLayout.JAVA_BYTE, 0)).isEqualTo((byte) value);
            assertThat(host.get(ValueLayout.JAVA_BYTE, MIB - 1)).isEqualTo((byte) value);
        }
    }
}
