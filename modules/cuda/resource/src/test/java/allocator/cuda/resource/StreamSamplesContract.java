package allocator.cuda.resource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import allocator.cuda.driver.CudaDriver;
import allocator.cuda.driver.CudaDrivers;
import allocator.provider.support.budget.Budget;
import allocator.resource.AllocatorResource;
import allocator.resource.log.RmmLog;
import allocator.resource.tracked.Access;
import allocator.resource.tracked.TrackedBlock;
import allocator.resource.tracked.TrackedMemory;
import allocator.runtime.Environment;
import allocator.runtime.Run;
import allocator.runtime.RunOptions;
import allocator.runtime.Session;
import allocator.runtime.SessionOptions;
import allocator.spi.MemoryRange;
import allocator.spi.StreamHazardException;
import allocator.spi.SyncStream;
import java.io.IOException;
import java.io.StringReader;
import java.io.StringWriter;
import java.lang.foreign.MemorySegment;
import jcuda.driver.CUdeviceptr;
import jcuda.driver.JCudaHandles;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The samples of streams in {@code docs/gpu.md}, which need no class of the user's own. */
abstract class StreamSamplesContract {
    private CudaDriver driver;

    abstract CudaDriver openDriver();

    abstract void closeDriver();

    /** Returns a kernel that adds. The sums of a test whose device has none are those of zeros. */
    abstract KernelSample.Add kernel();

    float right(int index) {
        return 0.5f * index;
    }

    @BeforeEach
    void open() {
        driver = openDriver();
    }

    @AfterEach
    void close() {
        if (driver != null) {
            closeDriver();
        }
    }

    @Test
    void aForeignStreamIsUsedAndStays() {
        driver.devices().primaryContextRetain(0);
        final long foreign = driver.streams().streamCreate(0);
        assertThat(ForeignStreamSample.roundTrip(driver, foreign, new float[] {1, 2, 3}))
                .containsExactly(1, 2, 3);
        assertThat(driver.streams().streamQuery(0, foreign)).isTrue();
        driver.streams().streamDestroy(0, foreign);
        driver.devices().primaryContextRelease(0);
    }

    @Test
    void launchesAreRecorded() throws IOException {
        final StringWriter lines = new StringWriter();
        final RmmLog log = new RmmLog(lines);
        assertThat(RecordedLaunchSample.fillAndCopy(driver, log)).isTrue();
        log.flush();
        assertThat(RmmLog.read(new StringReader(lines.toString()), "log")).hasSize(4);
    }

    @Test
    void aKernelAddsOnAStreamThatWaitsForTheCopies() {
        final int count = 1000;
        final float[] left = new float[count];
        final float[] right = new float[count];
        final float[] sums = new float[count];
        for (int i = 0; i < count; i++) {
            left[i] = i + 0.25f;
            right[i] = right(i);
            sums[i] = left[i] + right[i];
        }
        CudaDrivers.callWith(driver, () -> {
            try (Environment environment = Environment.create()) {
                assertThat(KernelSample.sum(environment, driver, this::kernel, left, right))
                        .containsExactly(sums);
            }
            return null;
        });
    }

    @Test
    void aUseBesideAKernelIsReportedWithBothCallSites() {
        CudaDrivers.callWith(driver, () -> {
            try (Environment environment = Environment.create()) {
                useBesideAKernel(environment);
            }
            return null;
        });
    }

    private void useBesideAKernel(Environment environment) {
        final SessionOptions options = SessionOptions.builder()
                .provider("cuda-arena")
                .option("ep.cuda-arena.arena.check_streams", "1")
                .build();
        try (Session session = environment.openSession(options);
                CudaEvents events = new CudaEvents(driver, 0);
                TrackedMemory memory = new TrackedMemory(
                        new AllocatorResource(session.allocator()), events, Budget.of("sums", 1 << 20))) {
            session.run(RunOptions.DEFAULT, run -> {
                final TrackedBlock block = memory.allocate(4096, run.stream(0), "sums");
                launchKernel(memory, block, run.stream(1)); // waits for the allocation
                launchKernel(memory, block, run.stream(0)); // waits for the first
                final MemoryRange range = session.allocator().range(block.address(), 4096);
                assertThatExceptionOfType(StreamHazardException.class)
                        .isThrownBy(() -> copyWithoutAWait(run, range, run.stream(1)))
                        .satisfies(hazard -> {
                            assertThat(hazard).hasMessageContaining("tracked write on " + run.stream(0));
                            assertThat(hazard).hasStackTraceContaining("copyWithoutAWait");
                            assertThat(hazard.getCause()).hasStackTraceContaining("launchKernel");
                        });
                memory.free(block);
                run.stream(0).flush();
                run.stream(1).flush();
                assertThat(memory.reap()).isEqualTo(4096);
            });
        }
    }

    private void launchKernel(TrackedMemory memory, TrackedBlock block, SyncStream on) {
        final KernelSample.Add add = kernel();
        memory.launch(on).uses(block, Access.WRITE).run(stream -> {
            final CUdeviceptr pointer = JCudaHandles.pointer(block.address());
            add.launch(JCudaHandles.stream(stream.handle()), pointer, pointer, 1024);
        });
    }

    private static void copyWithoutAWait(Run run, MemoryRange range, SyncStream stream) {
        run.transfers().copy(range, MemorySegment.ofArray(new byte[4096]), stream);
    }
}
