package allocator.cuda.resource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.cuda.driver.CudaException;
import allocator.cuda.driver.CudaFunction;
import allocator.cuda.driver.CudaResult;
import allocator.cuda.simulated.SimulatedCudaDriver;
import allocator.provider.support.budget.Budget;
import allocator.resource.MemoryResource;
import allocator.resource.tracked.Access;
import allocator.resource.tracked.TrackedBlock;
import allocator.resource.tracked.TrackedLaunch;
import allocator.resource.tracked.TrackedMemory;
import allocator.spi.DeviceException;
import allocator.spi.StreamHazardException;
import java.lang.foreign.Arena;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.Size;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tracked memory on a simulated device, which reports every use of memory that nothing orders. */
class CudaTrackedMemoryTest {
    private static final long MIB = 1 << 20;

    /** A device whose streams lag, with tracked memory of 8 MiB. */
    private static final class Device implements AutoCloseable {
        private final SimulatedCudaDriver driver = SimulatedCudaDriver.builder()
                .withMemory(64 * MIB)
                .withLaggingStreams()
                .build();
        private final Budget budget = Budget.of("device", 8 * MIB);
        private final CudaEvents events;
        private final MemoryResource resource;
        private final TrackedMemory memory;
        private final List<DriverStream> streams = new ArrayList<>();

        Device(boolean isAsync, int streamCount) {
            driver.devices().primaryContextRetain(0);
            events = new CudaEvents(driver, 0);
            resource = isAsync ? new CudaAsyncResource(driver, 0) : new CudaDeviceResource(driver, 0);
            memory = new TrackedMemory(resource, events, budget);
            for (int i = 0; i < streamCount; i++) {
                streams.add(new DriverStream(driver, resource.memory()));
            }
        }

        void write(TrackedBlock block, int value, DriverStream stream) {
            memory.prepare(block, Access.WRITE, stream);
            driver.memory().memsetD8Async(0, block.address(), (byte) value, block.byteSize(), stream.handle());
            memory.finish(block, Access.WRITE, stream);
        }

        void copy(TrackedBlock source, TrackedBlock target, DriverStream stream) {
            try (TrackedLaunch launch = memory.launch(stream)
                    .uses(source, Access.READ)
                    .uses(target, Access.WRITE)
                    .uses(target, Access.READ)) {
                launch.prepare();
                driver.memory().memcpyDtoDAsync(0, target.address(), source.address(), 16, stream.handle());
                launch.commit();
            }
        }

        int valueOf(TrackedBlock block) {
            try (Arena arena = Arena.ofConfined()) {
                var host = arena.allocate(16);
                driver.memory().memcpyDtoH(0, host.address(), block.address(), 16);
                return host.get(ValueLayout.JAVA_BYTE, 15);
            }
        }

        @Override
        public void close() {
            driver.controls().advanceAll();
            memory.reap();
            driver.controls().advanceAll(); // events recorded by the reap for uses without one
            assertThat(memory.reap(Duration.ofSeconds(10))).isTrue();
            memory.close();
            streams.forEach(DriverStream::close);
            events.close();
            resource.close();
            driver.devices().primaryContextRelease(0);
            driver.close(); // throws if there was a hazard or is a leak
        }
    }

    @Nested
    class OnOneDevice {
        private final Device device = new Device(true, 2);
        private final DriverStream one = device.streams.getFirst();
        private final DriverStream two = device.streams.getLast();

        @AfterEach
        void close() {
            device.driver.controls().clearFailures();
            device.close();
        }

        @Test
        void manyReadsOnAStreamKeepOneEvent() {
            TrackedBlock block = device.memory.allocate(MIB, one, "test");
            for (int i = 0; i < 100; i++) {
                device.memory.prepare(block, Access.READ, two);
                device.memory.finish(block, Access.READ, two);
            }
            assertThat(device.driver.controls().calls(CudaFunction.EVENT_CREATE))
                    .isLessThanOrEqualTo(3);
            device.memory.free(block);
        }

        @Test
        void afterACommitThatFailsTheNextUseWaitsForAllWorkOfTheStream() {
            TrackedBlock first = device.memory.allocate(MIB, one, "first");
            TrackedBlock second = device.memory.allocate(MIB, one, "second");
            device.driver.controls().failOnCall(CudaFunction.EVENT_RECORD, 1, CudaResult.INVALID_HANDLE);
            try (TrackedLaunch launch =
                    device.memory.launch(one).uses(first, Access.WRITE).uses(second, Access.WRITE)) {
                launch.prepare();
                device.driver.memory().memsetD8Async(0, first.address(), (byte) 9, MIB, one.handle());
                assertThatThrownBy(launch::commit).isInstanceOf(DeviceException.class);
                assertThatThrownBy(launch::commit).isInstanceOf(IllegalStateException.class);
            }
            device.copy(first, second, two);
            device.memory.free(first);
            device.driver.controls().advanceAll();
            assertThat(device.valueOf(second)).isEqualTo(9);
            device.memory.free(second);
        }

        @Test
        void aUseWithoutEventIsAwaitedOnTheDeviceUntilTheNextWrite() {
            TrackedBlock block = device.memory.allocate(MIB, one, "test");
            try (TrackedLaunch launch = device.memory.launch(one).uses(block, Access.WRITE)) {
                launch.prepare();
                device.driver.memory().memsetD8Async(0, block.address(), (byte) 9, MIB, one.handle());
            }
            long waits = device.driver.controls().calls(CudaFunction.STREAM_WAIT_EVENT);
            TrackedLaunch cancelled = device.memory.launch(two).uses(block, Access.WRITE);
            cancelled.prepare();
            cancelled.cancel();
            device.write(block, 3, two);
            assertThat(device.driver.controls().calls(CudaFunction.STREAM_WAIT_EVENT))
                    .isGreaterThanOrEqualTo(waits + 2);
            waits = device.driver.controls().calls(CudaFunction.STREAM_WAIT_EVENT);
            device.write(block, 4, two);
            assertThat(device.driver.controls().calls(CudaFunction.STREAM_WAIT_EVENT))
                    .isEqualTo(waits);
            assertThat(device.driver.controls().calls(CudaFunction.STREAM_SYNCHRONIZE))
                    .isZero();
            device.driver.controls().advanceAll();
            assertThat(device.valueOf(block)).isEqualTo(4);
            device.memory.free(block);
        }

        @Test
        void aReapNeverWaitsForTheDevice() {
            TrackedBlock block = device.memory.allocate(MIB, one, "test");
            device.write(block, 1, two);
            device.memory.free(block);
            assertThat(device.memory.reap()).isZero();
            assertThat(device.memory.reap(Duration.ofMillis(2))).isFalse();
            for (CudaFunction function : List.of(
                    CudaFunction.STREAM_SYNCHRONIZE, CudaFunction.EVENT_SYNCHRONIZE, CudaFunction.CTX_SYNCHRONIZE)) {
                assertThat(device.driver.controls().calls(function)).isZero();
            }
        }

        @Test
        void aBlockThatTheDriverDoesNotTakeBackIsNoLongerPending() {
            TrackedBlock block = device.memory.allocate(MIB, one, "test");
            device.memory.free(block);
            device.driver.controls().advanceAll();
            device.driver.controls().failOnCall(CudaFunction.MEM_FREE_ASYNC, 1, CudaResult.INVALID_HANDLE);
            assertThat(device.memory.reap()).isEqualTo(MIB);
            assertThat(device.memory.status()).isEqualTo(new TrackedMemory.Status(0, 0, 8 * MIB));
        }

        @Test
        void threadsOnTwoStreamsMeetNoHazardAndTheSumsHold() throws Exception {
            AtomicBoolean isOver = new AtomicBoolean();
            try (var threads = Executors.newFixedThreadPool(3)) {
                Future<?> watcher = threads.submit(() -> {
                    while (!isOver.get()) {
                        TrackedMemory.Status status = device.memory.status();
                        assertThat(status.live() + status.pending() + status.available())
                                .isEqualTo(8 * MIB);
                        device.memory.reap();
                    }
                });
                List<Future<?>> users = new ArrayList<>();
                for (DriverStream stream : device.streams) {
                    users.add(threads.submit(() -> {
                        for (int i = 0; i < 500; i++) {
                            TrackedBlock block = device.memory.allocate(1000, stream, "worker");
                            device.write(block, i, stream);
                            device.memory.free(block);
                            device.driver.controls().advance(stream.handle());
                        }
                    }));
                }
                for (Future<?> user : users) {
                    user.get();
                }
                isOver.set(true);
                watcher.get();
            }
        }
    }

    /** The same steps without tracking: proves that the device sees what the property below relies on. */
    @Test
    void theDeviceReportsAUseThatNothingOrders() {
        SimulatedCudaDriver driver = SimulatedCudaDriver.builder()
                .withMemory(64 * MIB)
                .withLaggingStreams()
                .build();
        driver.devices().primaryContextRetain(0);
        CudaAsyncResource async = new CudaAsyncResource(driver, 0);
        DriverStream one = new DriverStream(driver, async.memory());
        DriverStream two = new DriverStream(driver, async.memory());
        long address = async.allocate(1000, 256, one);
        assertThatThrownBy(() -> driver.memory().memsetD8Async(0, address, (byte) 1, 1000, two.handle()))
                .isInstanceOf(StreamHazardException.class);
        async.deallocate(address, 1000, 256, one);
        driver.controls().advance(one.handle());
        two.close();
        one.close();
        async.close();
        driver.devices().primaryContextRelease(0);
        assertThat(driver.controls().hazards()).hasSize(1);
    }

    /** Whichever call of the driver fails, no block is lost. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void noFailureOfTheDriverLosesABlock(boolean isAsync) {
        boolean hasFailed = true;
        for (int call = 1; hasFailed; call++) {
            try (Device device = new Device(isAsync, 2)) {
                List<TrackedBlock> live = new ArrayList<>();
                device.driver.controls().failOnCall(call, CudaResult.ILLEGAL_ADDRESS);
                int failures = runUnderFailures(device, live);
                device.driver.controls().clearFailures();
                TrackedMemory.Status status = device.memory.status();
                assertThat(status.live() + status.pending() + status.available())
                        .isEqualTo(8 * MIB);
                live.forEach(device.memory::free);
                hasFailed = failures > 0;
            }
        }
    }

    /** Runs some steps on two streams, any of which may fail. */
    private static int runUnderFailures(Device device, List<TrackedBlock> live) {
        DriverStream one = device.streams.getFirst();
        DriverStream two = device.streams.getLast();
        List<Runnable> steps = List.of(
                () -> live.add(device.memory.allocate(1000, one, "first")),
                () -> live.add(device.memory.allocate(2000, two, "second")),
                () -> device.copy(live.getFirst(), live.getLast(), two),
                () -> device.copy(live.getLast(), live.getFirst(), one),
                () -> device.memory.free(live.removeFirst()),
                device.driver.controls()::advanceAll,
                device.memory::reap,
                device.driver.controls()::advanceAll,
                device.memory::reap,
                () -> live.add(device.memory.allocate(1000, two, "third")));
        int failures = 0;
        for (Runnable step : steps) {
            try {
                step.run();
            } catch (DeviceException | CudaException e) {
                failures++;
                assertThat(e).hasMessageContaining("CUDA_ERROR_ILLEGAL_ADDRESS");
            } catch (NoSuchElementException e) {
                assertThat(failures).isPositive(); // nothing to copy or to free
            }
        }
        return failures;
    }

    /** Random programs on streams that lag: the device reports uses that nothing orders. */
    @Property
    void noProgramUsesFreedOrUnorderedMemory(
            @ForAll boolean isAsync, @ForAll @Size(max = 150) List<@IntRange(max = 999_999) Integer> steps) {
        try (Device device = new Device(isAsync, 4)) {
            List<TrackedBlock> blocks = new ArrayList<>();
            List<Integer> values = new ArrayList<>();
            for (int step : steps) {
                DriverStream stream = device.streams.get(step / 16 % 4);
                int which = step / 64;
                switch (step % 8) {
                    case 0, 1 -> {
                        if (blocks.size() < 12) {
                            TrackedBlock block = device.memory.allocate(16 + which % 5000, stream, "step " + step);
                            device.write(block, which % 100, stream);
                            blocks.add(block);
                            values.add(which % 100);
                        }
                    }
                    case 2, 3 -> {
                        if (blocks.size() > 1) {
                            int source = which % blocks.size();
                            int target = which / 16 % blocks.size();
                            if (source != target) {
                                device.copy(blocks.get(source), blocks.get(target), stream);
                                values.set(target, values.get(source));
                            }
                        }
                    }
                    case 4 -> {
                        if (!blocks.isEmpty()) {
                            int target = which % blocks.size();
                            device.write(blocks.get(target), which % 90, stream);
                            values.set(target, which % 90);
                        }
                    }
                    case 5 -> {
                        if (!blocks.isEmpty()) {
                            int freed = which % blocks.size();
                            device.memory.free(blocks.remove(freed));
                            values.remove(/* index */ freed);
                        }
                    }
                    case 6 -> device.driver.controls().advance(stream.handle());
                    default -> device.memory.reap();
                }
                TrackedMemory.Status status = device.memory.status();
                assertThat(status.live() + status.pending() + status.available())
                        .isEqualTo(8 * MIB);
            }
            device.driver.controls().advanceAll();
            for (int i = 0; i < blocks.size(); i++) {
                assertThat(device.valueOf(blocks.get(i))).isEqualTo(values.get(i));
            }
            blocks.forEach(device.memory::free);
        }
    }

    /** Eight threads never request more than the budget, so none may be rejected, even while others reap. */
    @Test
    void noThreadIsRejectedWhileReapsOfOthersReturnMemory() throws Exception {
        SimulatedCudaDriver driver =
                SimulatedCudaDriver.builder().withMemory(64 * MIB).build();
        driver.devices().primaryContextRetain(0);
        CudaAsyncResource async = new CudaAsyncResource(driver, 0);
        CudaEvents events = new CudaEvents(driver, 0);
        TrackedMemory memory = new TrackedMemory(async, events, Budget.of("device", 8 * MIB));
        try (var threads = Executors.newFixedThreadPool(8)) {
            List<Future<?>> all = new ArrayList<>();
            for (int thread = 0; thread < 8; thread++) {
                all.add(threads.submit(() -> {
                    try (DriverStream stream = new DriverStream(driver, async.memory())) {
                        for (int i = 0; i < 2000; i++) {
                            memory.free(memory.allocate(MIB, stream, "worker"));
                        }
                    }
                }));
            }
            for (Future<?> one : all) {
                one.get();
            }
        }
        assertThat(memory.reap(Duration.ofSeconds(10))).isTrue();
        memory.close();
        events.close();
        async.close();
        driver.devices().primaryContextRelease(0);
        driver.close();
    }
}
