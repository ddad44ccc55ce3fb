package allocator.cuda.resource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.cuda.simulated.SimulatedCudaDriver;
import allocator.provider.support.budget.Budget;
import allocator.resource.AllocatorResource;
import allocator.resource.FallbackResource;
import allocator.resource.MemoryResource;
import allocator.resource.ResourceAllocator;
import allocator.resource.StatisticsResource;
import allocator.resource.StreamBoundResource;
import allocator.resource.StreamOrderedMemoryResource;
import allocator.resource.budget.BudgetResource;
import allocator.resource.tracked.Access;
import allocator.resource.tracked.TrackedBlock;
import allocator.resource.tracked.TrackedMemory;
import allocator.runtime.Environment;
import allocator.runtime.Session;
import allocator.runtime.SessionOptions;
import allocator.spi.SyncStream;
import java.util.List;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Every resource of {@code gpu:0} rejects a stream of {@code gpu:1} by itself, with no call of the driver (F-10). */
class StreamsOfAnotherDeviceTest {
    private static final long MIB = 1 << 20;

    private final SimulatedCudaDriver driver =
            SimulatedCudaDriver.builder().withDevices(2).build();
    private final Environment environment =
            Environment.builder().modulePathProviders(false).build();
    private Session session;
    private CudaAsyncResource async;
    private SyncStream own;
    private SyncStream other;

    @BeforeEach
    void open() {
        environment.register(driver.provider("cuda-arena"));
        session = environment.openSession(SessionOptions.builder()
                .provider("cuda-arena", 0)
                .provider("cuda-arena", 1)
                .build());
        async = new CudaAsyncResource(driver, 0);
        own = session.openStream();
        other = session.openStream(
                environment.devices().get(1).device().defaultMemory().orElseThrow());
    }

    @AfterEach
    void nothingIsLeft() {
        async.close();
        session.close();
        environment.close();
        driver.close();
    }

    private void assertRejected(ThrowingCallable call) {
        final long calls = driver.controls().calls();
        assertThatThrownBy(call)
                .isExactlyInstanceOf(IllegalArgumentException.class)
                .hasMessageStartingWith(other + " is a stream of another device and cannot order memory of")
                .hasMessageContaining("(gpu:0");
        assertThat(driver.controls().calls()).isEqualTo(calls);
    }

    @Test
    void everyResourceRejectsThem() {
        final Budget tenant = Budget.of("tenant", 64 * MIB);
        for (MemoryResource bottom : List.of(
                async,
                new CudaDeviceResource(driver, 0),
                new CudaUnifiedResource(driver, 0),
                new AllocatorResource(session.allocator()))) {
            for (StreamOrderedMemoryResource resource : List.of(
                    StreamOrderedMemoryResource.of(bottom),
                    new BudgetResource(new StatisticsResource(bottom), tenant),
                    new FallbackResource(bottom, bottom))) {
                assertRejected(() -> resource.allocate(MIB, 256, other));
                final long block = resource.allocate(MIB, 256, own);
                assertRejected(() -> resource.deallocate(block, MIB, 256, other));
                resource.deallocate(block, MIB, 256, own);
                assertRejected(() -> new StreamBoundResource(resource, other));
                assertRejected(() -> ResourceAllocator.of(resource).allocOnStream(MIB, other));
            }
            assertThat(tenant.status().charge()).isZero();
        }
    }

    @Test
    void trackedMemoryRejectsThemAndItsBlockIsAsBefore() {
        final Budget tenant = Budget.of("tenant", 64 * MIB);
        try (CudaEvents events = new CudaEvents(driver, 0);
                TrackedMemory memory = new TrackedMemory(async, events, tenant)) {
            assertRejected(() -> memory.allocate(MIB, other, "scores"));
            assertThat(tenant.status().peakCharge()).isZero();
            final TrackedBlock block = memory.allocate(MIB, own, "scores");
            assertRejected(() -> memory.prepare(block, Access.WRITE, other));
            assertRejected(() -> memory.launch(other).uses(block, Access.WRITE).prepare());
            memory.prepare(block, Access.WRITE, own);
            memory.finish(block, Access.WRITE, own);
            memory.free(block);
            assertThat(memory.reap()).isEqualTo(MIB);
        }
    }
}
