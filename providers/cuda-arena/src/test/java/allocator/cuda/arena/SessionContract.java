package allocator.cuda.arena;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import allocator.cuda.driver.CudaAvailability;
import allocator.cuda.driver.CudaDriver;
import allocator.cuda.testkit.Capture;
import allocator.runtime.Environment;
import allocator.runtime.ManagedAllocator;
import allocator.runtime.RunOptions;
import allocator.runtime.Session;
import allocator.runtime.SessionOptions;
import allocator.runtime.Transfers;
import allocator.spi.InvalidSizeException;
import allocator.spi.MemoryLocation;
import allocator.spi.MemoryType;
import allocator.spi.StreamCaptureException;
import allocator.spi.SyncNotification;
import allocator.spi.SyncStream;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Data under a session of the runtime. */
abstract class SessionContract {
    private CudaDriver driver;
    private CudaArenaFactory factory;
    private Environment environment;

    abstract CudaDriver openDriver();

    abstract void closeDriver();

    @BeforeEach
    void open() {
        driver = openDriver();
        environment = Environment.builder().modulePathProviders(false).build();
        factory = new CudaArenaFactory(() -> new CudaAvailability.Available(driver));
        environment.register(factory);
    }

    @AfterEach
    void close() {
        if (environment != null) {
            environment.close();
            closeDriver();
        }
    }

    private Session openSession() {
        return environment.openSession(
                SessionOptions.builder().provider("cuda-arena").build());
    }

    private static ManagedAllocator pinned(Session session) {
        final MemoryLocation device = session.allocator().info().location();
        return session.allocator(new MemoryLocation(
                        device.deviceType(), device.vendorId(), device.deviceOrdinal(), MemoryType.HOST_ACCESSIBLE))
                .orElseThrow();
    }

    @Test
    void theSampleReturnsWhatItWasGiven() {
        assertThat(GpuSession.run(environment, new float[] {5, 6}, new float[] {1, 2, 3}))
                .containsExactly(1, 2, 3, 5, 6);
    }

    /** Above 4 MiB an array goes in several pieces. */
    @ParameterizedTest
    @ValueSource(ints = {1, 4096, 4 << 20, (9 << 20) + 5})
    void bytesComeBackThroughDeviceAndPinnedMemory(int byteSize) {
        final byte[] written = new byte[byteSize];
        new SplittableRandom(byteSize).nextBytes(written);
        final byte[] read = new byte[byteSize];
        try (Session session = openSession()) {
            final ManagedAllocator gpu = session.allocator();
            final ManagedAllocator host = pinned(session);
            final Transfers transfers = session.transfers();
            final long first = gpu.alloc(byteSize);
            final long staged = host.alloc(byteSize);
            final long second = gpu.alloc(byteSize);
            transfers.copy(MemorySegment.ofArray(written), gpu.range(first, byteSize));
            transfers.copy(gpu.range(first, byteSize), host.range(staged, byteSize));
            assertThat(host.segment(staged, byteSize).mismatch(MemorySegment.ofArray(written)))
                    .isEqualTo(-1);
            transfers.copy(host.range(staged, byteSize), gpu.range(second, byteSize));
            transfers.copy(gpu.range(second, byteSize), MemorySegment.ofArray(read));
            assertThat(read).isEqualTo(written);
            gpu.free(first);
            gpu.free(second);
            host.free(staged);
            assertThat(session.liveBlocks()).isZero();
        }
    }

    @Test
    void copiesOfARunAreQueuedOnItsStreams() {
        try (Session session = openSession();
                Arena arena = Arena.ofConfined()) {
            final MemorySegment read = arena.allocate(16);
            session.run(RunOptions.DEFAULT, run -> {
                final SyncStream stream = run.stream(0);
                final long block = run.allocator().allocOnStream(16, stream);
                run.transfers()
                        .copy(
                                MemorySegment.ofArray(new long[] {1, 2}),
                                run.allocator().range(block, 16),
                                stream);
                run.transfers().copy(run.allocator().range(block, 16), read, stream);
                run.allocator().free(block);
            });
            assertThat(read.toArray(java.lang.foreign.ValueLayout.JAVA_LONG)).containsExactly(1, 2);
        }
    }

    /** A stream of the session's, and one that other code owns, outlive runs and are closed with the session. */
    @Test
    void streamsOutsideRunsOrderMemory() {
        driver.devices().primaryContextRetain(0);
        final long foreign = driver.streams().streamCreate(0);
        final byte[] read = new byte[16];
        try (Session session = openSession()) {
            final ManagedAllocator gpu = session.allocator();
            final SyncStream view = session.viewStream(foreign);
            final SyncStream own = session.openStream(gpu.info());
            final long block = gpu.allocOnStream(16, view);
            driver.memory().memsetD8Async(0, block, (byte) 5, 16, foreign);
            try (SyncNotification written = view.createNotification()) {
                written.activate();
                written.waitOnDevice(own);
            }
            session.transfers().copy(gpu.range(block, 16), MemorySegment.ofArray(read), own);
            own.flush();
            gpu.free(block);
            session.openStream().close();
            assertThatExceptionOfType(IllegalStateException.class)
                    .isThrownBy(() -> session.viewStream(gpu.info(), foreign))
                    .withMessageContaining("already");
        }
        assertThat(read).containsOnly(5);
        assertThat(driver.streams().streamQuery(0, foreign)).isTrue();
        driver.streams().streamDestroy(0, foreign);
        driver.devices().primaryContextRelease(0);
    }

    @Test
    void aRunThatEndsWithinACaptureSaysSoAndLeavesTheCapture() {
        final List<Capture> captures = new ArrayList<>();
        try (Session session = openSession()) {
            try {
                assertThatExceptionOfType(StreamCaptureException.class)
                        .isThrownBy(() ->
                                session.run(RunOptions.DEFAULT, run -> captures.add(Capture.of(driver, run.stream(0)))))
                        .withMessageContaining("is being captured into a graph");
            } finally {
                captures.forEach(Capture::close);
            }
            session.run(RunOptions.DEFAULT, run -> run.stream(0).flush());
        }
    }

    @Test
    void wrongCopiesAreRejectedBeforeAByteIsCopied() {
        try (Session session = openSession()) {
            final ManagedAllocator gpu = session.allocator();
            final Transfers transfers = session.transfers();
            final long block = gpu.alloc(16);
            transfers.copy(MemorySegment.ofArray(new byte[16]), gpu.range(block, 16));
            assertThatExceptionOfType(InvalidSizeException.class)
                    .isThrownBy(() -> transfers.copy(MemorySegment.ofArray(new byte[9]), gpu.range(block, 16)));
            final SyncStream closed = factory.createSyncStream(gpu.info());
            closed.close();
            assertThatExceptionOfType(IllegalStateException.class)
                    .isThrownBy(
                            () -> transfers.copy(MemorySegment.ofArray(new byte[] {1}), gpu.range(block, 1), closed));
            final byte[] read = new byte[16];
            transfers.copy(gpu.range(block, 16), MemorySegment.ofArray(read));
            assertThat(read).containsOnly(0);
            gpu.free(block);
        }
    }
}
