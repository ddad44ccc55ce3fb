package allocator.cuda.resource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.cuda.driver.CudaFunction;
import allocator.cuda.simulated.SimulatedCudaDriver;
import allocator.provider.support.budget.Budget;
import allocator.resource.AllocatorResource;
import allocator.resource.MemoryResource;
import allocator.resource.ResourceAllocator;
import allocator.resource.StatisticsResource;
import allocator.resource.budget.BudgetResource;
import allocator.resource.log.LoggingResource;
import allocator.resource.log.RmmLog;
import allocator.resource.log.RmmLog.Action;
import allocator.runtime.Environment;
import allocator.runtime.RunOptions;
import allocator.runtime.Session;
import allocator.runtime.SessionOptions;
import allocator.spi.Allocator;
import allocator.spi.AllocatorOptions;
import allocator.spi.DeviceDiscovery;
import allocator.spi.DeviceType;
import allocator.spi.EpDevice;
import allocator.spi.HardwareDevice;
import allocator.spi.MemoryInfo;
import allocator.spi.OutOfMemoryException;
import allocator.spi.SyncStream;
import allocator.testkit.FakeFactory;
import java.io.IOException;
import java.io.StringReader;
import java.io.StringWriter;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Stacks of resources under sessions of the runtime, on a simulated GPU. */
class SessionStackTest {
    private static final long MIB = 1 << 20;

    private final SimulatedCudaDriver driver =
            SimulatedCudaDriver.builder().withMemory(64 * MIB).build();
    private final StringWriter lines = new StringWriter();
    private final RmmLog log = new RmmLog(lines);

    @BeforeEach
    void retain() {
        driver.devices().primaryContextRetain(0);
    }

    @AfterEach
    void nothingIsLeft() {
        driver.devices().primaryContextRelease(0);
        driver.close();
    }

    /** A provider of the memory of the simulated device, without a pool. */
    private static final class SimulatedGpu extends FakeFactory {
        private final SimulatedCudaDriver driver;
        private final CudaDeviceResource resource;

        SimulatedGpu(SimulatedCudaDriver driver) {
            super("gpu");
            this.driver = driver;
            resource = new CudaDeviceResource(driver, 0);
        }

        @Override
        public DeviceDiscovery discoverDevices() {
            MemoryInfo memory = resource.memory();
            var hardware = new HardwareDevice(
                    DeviceType.GPU,
                    memory.location().vendorId(),
                    memory.location().deviceOrdinal(),
                    "simulated",
                    Map.of());
            return DeviceDiscovery.of(EpDevice.on(hardware).memory(memory).build());
        }

        @Override
        public synchronized Allocator createAllocator(MemoryInfo info, AllocatorOptions options) {
            return ResourceAllocator.of(resource);
        }

        @Override
        public synchronized void releaseAllocator(Allocator allocator) {
            ((ResourceAllocator) allocator).close();
        }

        @Override
        public synchronized SyncStream createSyncStream(MemoryInfo info) {
            return new DriverStream(driver, info);
        }
    }

    private Environment environment() {
        Environment environment =
                Environment.builder().modulePathProviders(false).build();
        environment.register(new SimulatedGpu(driver));
        return environment;
    }

    private List<Action> actions() throws IOException {
        log.flush();
        return RmmLog.read(new StringReader(lines.toString()), "log").stream()
                .map(RmmLog.Entry::action)
                .toList();
    }

    @Test
    void budgetOverLoggingOverAsyncServesASession() throws IOException {
        Budget tenant = Budget.of("tenant", 10 * MIB);
        try (CudaAsyncResource async = new CudaAsyncResource(driver, 0)) {
            ResourceAllocator stack = ResourceAllocator.of(new BudgetResource(new LoggingResource(async, log), tenant));
            try (Environment environment = environment()) {
                environment.registerAllocator(stack);
                SessionOptions options = SessionOptions.builder()
                        .name("bert")
                        .provider("gpu")
                        .option("session.use_env_allocators", "1")
                        .build();
                try (Session session = environment.openSession(options)) {
                    session.run(RunOptions.builder().build(), run -> {
                        long address = run.allocator().allocOnStream(8 * MIB, run.stream(0));
                        driver.memory()
                                .memsetD8Async(
                                        0,
                                        address,
                                        (byte) 1,
                                        8 * MIB,
                                        run.stream(0).handle());
                        assertThatThrownBy(() -> run.allocator().allocOnStream(3 * MIB, run.stream(0)))
                                .isInstanceOf(OutOfMemoryException.class)
                                .hasMessageContaining("The budget tenant cannot grant");
                        run.allocator().free(address);
                    });
                    assertThat(tenant.status().peakCharge()).isEqualTo(8 * MIB);
                    assertThat(session.allocator().stats().peakBytesInUse()).isEqualTo(8 * MIB);
                }
                environment.unregisterAllocator(stack.info().location());
            }
        }
        assertThat(actions()).containsExactly(Action.ALLOCATE, Action.FREE);
        assertThat(tenant.status().charge()).isZero();
        assertThat(driver.controls().calls(CudaFunction.MEM_ALLOC)).isZero();
    }

    @Test
    void aStackDecoratesTheAllocatorOfAProvider() throws IOException {
        Budget tenant = Budget.of("tenant", 10 * MIB);
        SessionOptions options = SessionOptions.builder()
                .name("bert")
                .provider("gpu")
                .decorator(allocator -> ResourceAllocator.of(stack(new AllocatorResource(allocator), tenant)))
                .build();
        try (Environment environment = environment();
                Session session = environment.openSession(options)) {
            session.run(RunOptions.builder().build(), run -> {
                long address = run.allocator().allocOnStream(8 * MIB, run.stream(0));
                assertThatThrownBy(() -> run.allocator().alloc(3 * MIB)).isInstanceOf(OutOfMemoryException.class);
                assertThat(tenant.status().charge()).isEqualTo(8 * MIB);
                run.allocator().free(address);
            });
        }
        assertThat(actions()).containsExactly(Action.ALLOCATE, Action.FREE);
        assertThat(tenant.status().charge()).isZero();
    }

    private MemoryResource stack(MemoryResource bottom, Budget budget) {
        return new BudgetResource(new LoggingResource(new StatisticsResource(bottom), log), budget);
    }
}
