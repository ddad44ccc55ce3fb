package com.example.streams;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import allocator.cuda.driver.CudaDriver;
import allocator.cuda.driver.CudaDrivers;
import allocator.cuda.driver.CudaFunction;
import allocator.cuda.driver.CudaResult;
import allocator.cuda.resource.CudaEvents;
import allocator.cuda.simulated.SimulatedCudaDriver;
import allocator.resource.AllocatorResource;
import allocator.provider.support.budget.Budget;
import allocator.resource.tracked.Access;
import allocator.resource.tracked.TrackedBlock;
import allocator.resource.tracked.TrackedMemory;
import allocator.runtime.Environment;
import allocator.runtime.ManagedAllocator;
import allocator.runtime.RunOptions;
import allocator.runtime.Session;
import allocator.runtime.SessionOptions;
import allocator.spi.MemoryRange;
import allocator.spi.OutOfMemoryException;
import allocator.spi.StreamHazardException;
import allocator.spi.SyncStream;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.List;
import java.util.function.Predicate;
import org.junit.jupiter.api.Test;

/** Tests of code that uses streams, on machines without a GPU. */
class StreamsTest {
    private static final long ROW = 1024;

    @Test
    void rowsAreCopied() {
        try (SimulatedCudaDriver gpu = SimulatedCudaDriver.builder().withLaggingStreams().build();
                Environment environment = environment(gpu);
                Session session = environment.openSession(options("cuda-arena"))) {
            final ManagedAllocator memory = session.allocator();
            final MemoryRange row = memory.range(memory.alloc(ROW), ROW);
            final MemoryRange first = memory.range(memory.alloc(ROW), ROW);
            final MemoryRange second = memory.range(memory.alloc(ROW), ROW);
            final byte[] data = new byte[(int) ROW];
            Arrays.fill(data, (byte) 7);
            session.transfers().copy(MemorySegment.ofArray(data), row);

            session.run(RunOptions.builder().build(), run -> Rows.copyTwice(run, row, first, second));

            final byte[] result = new byte[(int) ROW];
            session.transfers().copy(second, MemorySegment.ofArray(result));
            assertArrayEquals(data, result);
            List.of(row, first, second).forEach(range -> memory.free(range.address()));
        } // the close of the driver throws if there was a hazard, or anything is left
    }

    private static Environment environment(SimulatedCudaDriver gpu) {
        final Environment environment =
                Environment.builder().modulePathProviders(false).build();
        environment.register(gpu.provider("cuda-arena"));
        environment.register(gpu.provider("cuda-mempool"));
        return environment;
    }

    private static SessionOptions options(String provider) {
        return SessionOptions.builder().provider(provider).build();
    }

    @Test
    void aForgottenWaitIsFound() {
        try (SimulatedCudaDriver gpu = SimulatedCudaDriver.builder().withLaggingStreams().build();
                Environment environment = environment(gpu);
                Session session = environment.openSession(options("cuda-mempool"))) {
            final ManagedAllocator memory = session.allocator();
            final MemoryRange row = memory.range(memory.alloc(ROW), ROW);
            final MemoryRange first = memory.range(memory.alloc(ROW), ROW);
            final MemoryRange second = memory.range(memory.alloc(ROW), ROW);
            final StreamHazardException hazard = assertThrows(
                    StreamHazardException.class,
                    () -> session.run(
                            RunOptions.builder().build(), run -> Rows.copyTwiceInARace(run, row, first, second)));

            assertEquals(StreamHazardException.Kind.REUSE_IN_FLIGHT, hazard.kind());
            assertTrue(has(hazard, "copyTwiceInARace") && has(hazard.getCause(), "copyTwiceInARace"));
            assertEquals(1, gpu.controls().takeHazards().size()); // expected: not reported again at the end
            List.of(row, first, second).forEach(range -> memory.free(range.address()));
            System.out.println(hazard.getMessage());
        }
    }

    private static boolean has(Throwable thrown, String method) {
        final Predicate<StackTraceElement> isCalled = frame -> frame.getMethodName().equals(method);
        return Arrays.stream(thrown.getStackTrace()).anyMatch(isCalled);
    }

    @Test
    void checkedStreamsFindItOnAnyGpu() {
        final CudaDriver driver = CudaDrivers.probe()
                .orElse(reason -> SimulatedCudaDriver.builder().build()); // streams that do not lag: no luck is needed
        final SessionOptions options = SessionOptions.builder()
                .provider("cuda-arena")
                .option("ep.cuda-arena.arena.check_streams", "1")
                .build();
        try (CudaDrivers.Substitution place = CudaDrivers.substitute(driver);
                Environment environment = Environment.builder().build();
                Session session = environment.openSession(options)) {
            session.run(RunOptions.builder().build(), run -> {
                final MemoryRange row = run.allocator().range(run.allocator().allocOnStream(ROW, run.stream(0)), ROW);
                final MemoryRange other = run.allocator().range(run.allocator().allocOnStream(ROW, run.stream(1)), ROW);
                final StreamHazardException hazard = assertThrows(
                        StreamHazardException.class, () -> run.transfers().copy(row, other, run.stream(1)));
                assertEquals(StreamHazardException.Kind.USE_BEFORE_READY, hazard.kind());
                run.allocator().free(row.address());
                run.allocator().free(other.address());
            });
        }
    }

    @Test
    void launchesAndBlocksAreTrackedUnderASession() {
        try (SimulatedCudaDriver gpu = SimulatedCudaDriver.builder().withLaggingStreams().build();
                Environment environment = environment(gpu);
                Session session = environment.openSession(options("cuda-arena"));
                CudaEvents events = new CudaEvents(gpu, 0);
                Budget tenant = Budget.of("tenant", 1 << 20);
                TrackedMemory memory =
                        TrackedMemory.checked(new AllocatorResource(session.allocator()), events, tenant)) {
            session.run(RunOptions.builder().build(), run -> {
                final TrackedBlock scores = memory.allocate(ROW, run.stream(0), "scores");
                fill(gpu, memory, scores, 1, run.stream(0));
                fill(gpu, memory, scores, 2, run.stream(1)); // waits for the first
                memory.free(scores);
                assertEquals(ROW, memory.status().pending());
                assertEquals(0, memory.reap()); // the work is queued still

                gpu.controls().advanceAll();
                assertEquals(ROW, memory.reap());
                assertEquals(0, tenant.status().charge());
                assertThrows(OutOfMemoryException.class, () -> memory.allocate(2 << 20, run.stream(0), "too large"));
            });
        }
    }

    /** A fill stands in for a kernel. */
    private static void fill(
            CudaDriver driver, TrackedMemory memory, TrackedBlock block, int value, SyncStream stream) {
        memory.launch(stream)
                .uses(block, Access.WRITE)
                .run(on -> driver.memory()
                        .memsetD8Async(0, block.address(), (byte) value, block.byteSize(), stream.handle()));
    }

    @Test
    void aFullDeviceAndAFailingCallAreHandled() {
        try (SimulatedCudaDriver gpu = SimulatedCudaDriver.builder()
                        .withDevices(2)
                        .withMemory(64 << 20)
                        .build();
                Environment environment = environment(gpu);
                Session session = environment.openSession(options("cuda-arena"))) {
            assertEquals(2, environment.providers().getFirst().devices().size());
            assertThrows(OutOfMemoryException.class, () -> session.allocator().alloc(1 << 30));

            gpu.controls().failOnCall(CudaFunction.MEM_ALLOC, 1, CudaResult.OUT_OF_MEMORY);
            session.allocator().free(session.allocator().alloc(ROW)); // the arena asks again, for less
            assertEquals(0, session.liveBlocks());
        }
    }

    @Test
    void codeThatFindsItsProvidersByItselfFindsTheSimulatedOnes() {
        try (SimulatedCudaDriver gpu = SimulatedCudaDriver.builder().build();
                CudaDrivers.Substitution place = gpu.substitute();
                Environment environment = Environment.builder().build();
                Session session = environment.openSession(options("cuda-arena"))) {
            assertEquals(
                    "Simulated device",
                    session.devices().getFirst().device().hardware().name());
        }
    }
}
