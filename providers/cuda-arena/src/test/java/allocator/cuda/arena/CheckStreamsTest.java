package allocator.cuda.arena;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import allocator.cuda.simulated.SimulatedCudaDriver;
import allocator.runtime.Environment;
import allocator.runtime.ManagedAllocator;
import allocator.runtime.Session;
import allocator.runtime.SessionOptions;
import allocator.spi.AllocatorOptions;
import allocator.spi.EpFactory;
import allocator.spi.MemoryLocation;
import allocator.spi.MemoryRange;
import allocator.spi.MemoryType;
import allocator.spi.StreamHazardException;
import allocator.spi.StreamHazardException.Kind;
import allocator.spi.SyncNotification;
import allocator.spi.SyncStream;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * What {@code arena.check_streams} notices, under sessions of both CUDA providers' kinds of memory. Streams of the
 * device do not lag: all work is done at once, and what is noticed does not depend on it.
 */
@ParameterizedClass
@ValueSource(strings = {"0", "1"})
class CheckStreamsTest {
    private static final long SIZE = 4096;

    private final SimulatedCudaDriver driver = SimulatedCudaDriver.builder().build();
    private final EpFactory provider = driver.provider("cuda-arena");
    private final Environment environment =
            Environment.builder().modulePathProviders(false).build();
    private final Session session;
    private final ManagedAllocator gpu;
    private SyncStream one;
    private SyncStream two;

    CheckStreamsTest(String useCudaMempool) {
        environment.register(provider);
        session = environment.openSession(SessionOptions.builder()
                .provider("cuda-arena")
                .option("ep.cuda-arena.arena.check_streams", "1")
                .option("ep.cuda-arena.arena.use_cuda_mempool", useCudaMempool)
                .build());
        gpu = session.allocator();
    }

    @BeforeEach
    void openStreams() {
        one = provider.createSyncStream(gpu.info());
        two = provider.createSyncStream(gpu.info());
    }

    @AfterEach
    void nothingIsLeft() {
        one.close();
        two.close();
        session.close();
        environment.close();
        driver.close(); // throws if anything is left
    }

    private MemoryRange range(long address) {
        return gpu.range(address, SIZE);
    }

    private static void order(SyncStream before, SyncStream after) {
        try (SyncNotification point = before.createNotification()) {
            point.activate();
            point.waitOnDevice(after);
        }
    }

    private void write(long address, SyncStream stream) {
        try (Arena arena = Arena.ofConfined()) {
            session.transfers().copy(arena.allocate(SIZE), range(address), stream);
        }
    }

    private void writeLater(long address, SyncStream stream) {
        write(address, stream);
    }

    private static void assertHazard(Kind kind, ThrowingCallable call, String earlier, String later, String... parts) {
        assertThatExceptionOfType(StreamHazardException.class)
                .isThrownBy(call)
                .withMessageContaining(kind + " on gpu:0: ")
                .satisfies(hazard -> {
                    assertThat(hazard.kind()).isEqualTo(kind);
                    assertThat(parts).allSatisfy(part -> assertThat(hazard).hasMessageContaining("%s", part));
                    assertThat(methods(hazard)).contains(later);
                    assertThat(methods(hazard.getCause())).contains(earlier);
                });
    }

    private static Iterable<String> methods(Throwable thrown) {
        return Arrays.stream(thrown.getStackTrace())
                .map(StackTraceElement::getMethodName)
                .toList();
    }

    private long allocate(SyncStream stream) {
        return gpu.allocOnStream(SIZE, stream);
    }

    @Test
    void aUseOnAnotherStreamMustWaitForTheAllocation() {
        final long block = allocate(one);
        assertHazard(
                Kind.USE_BEFORE_READY,
                () -> write(block, two),
                "allocate",
                "write",
                "copy on " + two + " of 4096 bytes at 0x" + Long.toHexString(block),
                "allocation on " + one,
                "Activate a notification of " + one,
                "make " + two + " wait");
        order(one, two);
        write(block, two);
        order(two, one);
        gpu.free(block);
    }

    @Test
    void theHostMustWaitForTheAllocationToo() {
        final long block = allocate(one);
        assertHazard(
                Kind.USE_BEFORE_READY,
                () -> session.transfers().copy(MemorySegment.ofArray(new byte[(int) SIZE]), range(block)),
                "allocate",
                "theHostMustWaitForTheAllocationToo");
        one.flush();
        session.transfers().copy(MemorySegment.ofArray(new byte[(int) SIZE]), range(block));
        gpu.free(block);
    }

    @Test
    void twoUsesOfWhichOneWritesMustBeOrdered() {
        final long block = gpu.alloc(SIZE);
        write(block, one);
        assertHazard(
                Kind.REUSE_IN_FLIGHT,
                () -> writeLater(block, two),
                "twoUsesOfWhichOneWritesMustBeOrdered",
                "writeLater",
                "but copy on " + one);
        order(one, two);
        writeLater(block, two);
        two.flush();
        gpu.free(block);
    }

    @Test
    void anOrderIsTransitive() {
        final long block = allocate(one);
        write(block, one);
        try (SyncStream three = provider.createSyncStream(gpu.info())) {
            order(one, two);
            order(two, three);
            write(block, three);
            order(three, one);
        }
        gpu.free(block);
    }

    @Test
    void aNotificationCoversNothingThatFollowsIt() {
        final long block = allocate(one);
        try (SyncNotification point = one.createNotification()) {
            point.activate();
            write(block, one);
            point.waitOnDevice(two);
        }
        assertHazard(Kind.REUSE_IN_FLIGHT, () -> writeLater(block, two), "write", "writeLater");
        gpu.free(block);
    }

    @Test
    void readsNeedNoOrder() {
        final long source = gpu.alloc(SIZE);
        final long first = allocate(one);
        final long second = allocate(two);
        session.transfers().copy(range(source), range(first), one);
        session.transfers().copy(range(source), range(second), two);
        assertHazard(Kind.REUSE_IN_FLIGHT, () -> write(source, two), "readsNeedNoOrder", "write");
        one.flush();
        two.flush();
        gpu.free(source);
        gpu.free(first);
        gpu.free(second);
    }

    @Test
    void separatePartsOfABlockNeedNoOrder() {
        final long block = gpu.alloc(2 * SIZE);
        write(block, one);
        write(block + SIZE, two);
        assertHazard(
                Kind.REUSE_IN_FLIGHT, () -> write(block + SIZE - 1, two), "separatePartsOfABlockNeedNoOrder", "write");
        one.flush();
        two.flush();
        gpu.free(block);
    }

    @Test
    void aBlockInUseOnAnotherStreamIsNotFreed() {
        final long block = allocate(one);
        order(one, two);
        write(block, two);
        assertHazard(Kind.FREE_IN_USE, () -> gpu.free(block), "write", "aBlockInUseOnAnotherStreamIsNotFreed");
        assertThat(session.liveBlocks()).isEqualTo(1);
        order(two, one);
        gpu.free(block);
        assertThat(session.liveBlocks()).isZero();
    }

    @Test
    void workOfItsOwnStreamMayBeQueuedWhenABlockIsFreed() {
        final long block = allocate(one);
        write(block, one);
        gpu.free(block);
    }

    @Test
    void aBlockWithoutAStreamIsFreedWhenTheHostHasWaited() {
        final long block = gpu.alloc(SIZE);
        write(block, one);
        assertHazard(Kind.FREE_IN_USE, () -> gpu.free(block), "write", "free", "wait for it on the host");
        try (SyncNotification point = one.createNotification()) {
            point.activate();
            point.waitOnHost();
        }
        gpu.free(block);
    }

    @Test
    void aCopyIntoMemoryOfTheHostIsAWait() {
        final long block = gpu.alloc(SIZE);
        write(block, one);
        try (Arena arena = Arena.ofConfined()) {
            session.transfers().copy(range(block), arena.allocate(SIZE), one);
        }
        gpu.free(block);
    }

    @Test
    void theEndOfAStreamIsTheEndOfItsUses() {
        final long block = gpu.alloc(SIZE);
        try (SyncStream three = provider.createSyncStream(gpu.info())) {
            write(block, three);
        }
        write(block, one);
        one.flush();
        gpu.free(block);
    }

    @Test
    void aFreedBlockIsNotUsed() {
        final long block = allocate(one);
        gpu.free(block);
        assertHazard(Kind.USE_AFTER_FREE, () -> write(block, one), "free", "write", "but free on the host");
        final long next = allocate(one);
        write(next, one);
        gpu.free(next);
    }

    @Test
    void pinnedMemoryOfAQueuedCopyIsNotFreed() {
        final MemoryLocation location = new MemoryLocation(
                gpu.info().location().deviceType(), gpu.info().location().vendorId(), 0, MemoryType.HOST_ACCESSIBLE);
        final ManagedAllocator pinned = session.allocator(location).orElseThrow();
        final long staged = pinned.alloc(SIZE);
        final long block = allocate(one);
        session.transfers().copy(pinned.range(staged, SIZE), range(block), one);
        assertHazard(
                Kind.FREE_IN_USE,
                () -> pinned.free(staged),
                "pinnedMemoryOfAQueuedCopyIsNotFreed",
                "pinnedMemoryOfAQueuedCopyIsNotFreed",
                "wait for it on the host");
        one.flush();
        pinned.free(staged);
        gpu.free(block);
    }

    @Test
    void aReuseAfterTheOrderOfTheArenaIsFound() {
        for (int round = 0; round < 100; round++) {
            final SyncStream mine = round % 2 == 0 ? one : two;
            final long block = allocate(mine);
            write(block, mine);
            if (round % 3 == 0) {
                order(mine, round % 2 == 0 ? two : one);
            }
            gpu.free(block);
        }
    }

    @Test
    void readOnlyMemoryIsCheckedToo() {
        final ManagedAllocator readOnly =
                session.initializerAllocator(gpu.info().location()).orElseThrow();
        assertThat(readOnly.info().isReadOnly()).isTrue();
        assertThat(readOnly.effectiveOptions().value("arena.check_streams")).isEqualTo("1");
        final long weights = session.allocInitializer(SIZE);
        final long block = allocate(one);
        session.transfers().copy(readOnly.range(weights, SIZE), range(block), one);
        assertHazard(
                Kind.FREE_IN_USE,
                () -> readOnly.free(weights),
                "readOnlyMemoryIsCheckedToo",
                "readOnlyMemoryIsCheckedToo");
        one.flush();
        readOnly.free(weights);
        gpu.free(block);
    }

    @Test
    void theSettingIsReportedAndOffByDefault() {
        assertThat(gpu.effectiveOptions().value("arena.check_streams")).isEqualTo("1");
        final var plain = provider.createAllocator(gpu.info(), AllocatorOptions.EMPTY);
        assertThat(plain).isInstanceOf(DeviceArena.class);
        assertThat(plain.effectiveOptions().value("arena.check_streams")).isEqualTo("0");
        provider.releaseAllocator(plain);
    }
}
