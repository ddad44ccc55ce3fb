package allocator.cuda.memory.check;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import allocator.cuda.memory.check.StreamChecks.Owner;
import allocator.cuda.memory.check.StreamChecks.Span;
import allocator.cuda.simulated.SimulatedCudaDriver;
import allocator.spi.AllocatorType;
import allocator.spi.DeviceType;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryLocation;
import allocator.spi.MemoryType;
import allocator.spi.StreamHazardException;
import allocator.spi.StreamHazardException.Kind;
import allocator.spi.SyncStream;
import allocator.testkit.FakeStream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** What the checks of a driver report for calls that an allocator reports to them. */
class StreamChecksTest {
    private static final MemoryInfo MEMORY = new MemoryInfo(
            "Cuda", new MemoryLocation(DeviceType.GPU, 0x10DE, 0, MemoryType.DEFAULT), 256, AllocatorType.DEVICE);
    private static final MemoryInfo OTHER_DEVICE = new MemoryInfo(
            "Cuda", new MemoryLocation(DeviceType.GPU, 0x10DE, 1, MemoryType.DEFAULT), 256, AllocatorType.DEVICE);
    private static final long ADDRESS = 0x1000;

    private final StreamChecks checks =
            StreamChecks.of(SimulatedCudaDriver.builder().build());
    private final Owner arena = new Owner(this, "gpu:0", false, false);
    private final Owner pool = new Owner(this, "gpu:0", true, false);
    private final Owner returningPool = new Owner(this, "gpu:0", true, true);
    private final SyncStream one = new FakeStream(MEMORY);
    private final SyncStream two = new FakeStream(MEMORY);

    StreamChecksTest() {
        checks.start();
    }

    private void allocate(long address, long byteSize, @Nullable SyncStream stream) {
        checks.allocated(arena, address, byteSize, stream);
    }

    private void write(long address, long byteSize, SyncStream stream) {
        begin(address, byteSize, stream).submitted();
    }

    private Submission begin(long address, long byteSize, SyncStream stream) {
        return checks.use("write", stream, Span.NONE, new Span(address, byteSize));
    }

    private void free(long address) {
        assertThat(checks.beginFree(address)).isTrue();
        checks.endFree();
    }

    private static void assertHazard(Kind kind, ThrowingCallable call) {
        assertThatExceptionOfType(StreamHazardException.class)
                .isThrownBy(call)
                .satisfies(hazard -> assertThat(hazard.kind()).isEqualTo(kind));
    }

    @Test
    void memoryOfAnotherStreamThatIsReusedTooEarlyIsAHazard() {
        allocate(ADDRESS, 1024, one);
        write(ADDRESS, 1024, one);
        free(ADDRESS);
        assertHazard(Kind.REUSE_IN_FLIGHT, () -> allocate(ADDRESS + 512, 1024, two));
        checks.follow(two, checks.point(one));
        allocate(ADDRESS + 512, 1024, two);
    }

    @Test
    void whatTheDeviceOrdersMayBeReused() {
        allocate(ADDRESS, 1024, one);
        write(ADDRESS, 1024, one);
        free(ADDRESS);
        checks.allocated(pool, ADDRESS, 1024, two);
        write(ADDRESS, 1024, two);
    }

    @Test
    void aFreeThatFailedLeavesTheBlockLive() {
        allocate(ADDRESS, 1024, one);
        assertThat(checks.beginFree(ADDRESS)).isTrue();
        checks.cancelFree(arena, ADDRESS);
        write(ADDRESS, 1024, one);
        free(ADDRESS);
        assertHazard(Kind.USE_AFTER_FREE, () -> write(ADDRESS, 1, one));
    }

    @Test
    void whatIsNotALiveBlockIsLeftToTheAllocator() {
        assertThat(checks.beginFree(ADDRESS)).isFalse();
        allocate(ADDRESS, 1024, one);
        assertThat(checks.beginFree(ADDRESS + 256)).isFalse();
        free(ADDRESS);
        assertThat(checks.beginFree(ADDRESS)).isFalse();
    }

    @Test
    void memoryThatWentBackIsForgotten() {
        allocate(ADDRESS, 1024, one);
        allocate(2 * ADDRESS, 1024, one);
        free(ADDRESS);
        checks.returned(arena, false);
        write(ADDRESS, 1, two); // of another allocator now
        assertHazard(Kind.USE_BEFORE_READY, () -> write(2 * ADDRESS, 1, two));
        checks.returned(arena, true);
        write(2 * ADDRESS, 1, two);
    }

    @Test
    void theFreesOfAnArenaThatNeverShrinksAreForgottenInTheEnd() {
        for (long i = 1; i <= 10_000; i++) {
            allocate(i * ADDRESS, 1024, one);
            free(i * ADDRESS);
        }
        assertHazard(Kind.USE_AFTER_FREE, () -> write(ADDRESS, 1, one));
        allocate(20_000 * ADDRESS, 1024, one);
        free(20_000 * ADDRESS);
        write(ADDRESS, 1, one);
    }

    @Test
    void aUseThatIsRejectedIsNotRecorded() {
        allocate(ADDRESS, 1024, one);
        assertHazard(Kind.USE_BEFORE_READY, () -> write(ADDRESS, 1024, two));
        free(ADDRESS);
    }

    @Test
    void aUseThatMayBeDoneByAWholeWriteIsReplaced() {
        allocate(ADDRESS, 1024, one);
        write(ADDRESS, 512, one);
        write(ADDRESS + 512, 512, one);
        final StreamChecks.StreamPoint parts = checks.point(one);
        write(ADDRESS, 1024, one);
        checks.follow(two, parts);
        assertHazard(Kind.REUSE_IN_FLIGHT, () -> write(ADDRESS, 1, two));
        checks.done(checks.point(one));
        write(ADDRESS, 1, two);
    }

    @Test
    void aPartDoesNotReplaceTheWhole() {
        allocate(ADDRESS, 1024, null);
        write(ADDRESS, 1024, one);
        write(ADDRESS + 512, 512, one);
        assertHazard(Kind.REUSE_IN_FLIGHT, () -> write(ADDRESS, 1, two));
    }

    @Test
    void theRestOfAFreedBlockStaysFreedWhenPartsAreAllocatedAgain() {
        allocate(ADDRESS, 4096, one);
        free(ADDRESS);
        allocate(ADDRESS + 1024, 1024, one);
        assertHazard(Kind.USE_AFTER_FREE, () -> write(ADDRESS, 1, one));
        assertHazard(Kind.USE_AFTER_FREE, () -> write(ADDRESS + 1023, 1, one));
        write(ADDRESS + 1024, 1024, one);
        assertThatExceptionOfType(StreamHazardException.class)
                .isThrownBy(() -> write(ADDRESS + 2048, 1, one))
                .withMessageContaining("free on the host of 4096 bytes at 0x1000");
        assertHazard(Kind.USE_AFTER_FREE, () -> write(ADDRESS + 4095, 1, one));
        allocate(ADDRESS, 1024, one);
        allocate(ADDRESS + 2048, 2048, one);
        write(ADDRESS, 4096, one);
    }

    /** The rest keeps the uses of the block. */
    @Test
    void theRestOfAFreedBlockIsNotReusedTooEarly() {
        allocate(ADDRESS, 4096, one);
        write(ADDRESS, 4096, one);
        free(ADDRESS);
        allocate(ADDRESS, 1024, one);
        assertHazard(Kind.REUSE_IN_FLIGHT, () -> allocate(ADDRESS + 1024, 1024, two));
    }

    @Test
    void memoryThatGoesBackToTheDriverIsForgotten() {
        allocate(ADDRESS, 1024, one);
        allocate(ADDRESS + 1024, 1024, one);
        allocate(ADDRESS + 2048, 1024, one);
        free(ADDRESS);
        free(ADDRESS + 1024);
        checks.returned(ADDRESS + 512, 1024);
        write(ADDRESS + 512, 1024, two);
        assertHazard(Kind.USE_AFTER_FREE, () -> write(ADDRESS + 511, 1, one));
        assertHazard(Kind.USE_AFTER_FREE, () -> write(ADDRESS + 1536, 1, one));
        checks.returned(ADDRESS, 4096);
        assertHazard(Kind.USE_BEFORE_READY, () -> write(ADDRESS + 2048, 1, two)); // live, whatever goes back
    }

    @Test
    void aWaitOfTheHostLetsAPoolReturnWhatIsFree() {
        checks.allocated(returningPool, ADDRESS, 1024, one);
        allocate(2 * ADDRESS, 1024, one);
        free(ADDRESS);
        free(2 * ADDRESS);
        assertHazard(Kind.USE_AFTER_FREE, () -> write(ADDRESS, 1, one));
        checks.done(checks.point(two));
        write(ADDRESS, 1, one);
        assertHazard(Kind.USE_AFTER_FREE, () -> write(2 * ADDRESS, 1, one));
        checks.allocated(returningPool, ADDRESS, 1024, one);
        free(ADDRESS);
        checks.hostWaited();
        write(ADDRESS, 1, one);
    }

    @Test
    void workThatWasNotSubmittedIsNoUse() {
        allocate(ADDRESS, 1024, null);
        write(ADDRESS, 512, one);
        try (Submission _ = begin(ADDRESS, 1024, one)) {
            assertHazard(Kind.REUSE_IN_FLIGHT, () -> write(ADDRESS + 512, 1, two)); // it may be on its way
        }
        write(ADDRESS + 512, 512, two);
        assertHazard(Kind.REUSE_IN_FLIGHT, () -> write(ADDRESS, 1, two)); // the use before it is there still
    }

    @Test
    void twoViewsOfOneStreamAreOneStream() {
        final SyncStream view = new FakeStream(MEMORY).handle(one.handle());
        allocate(ADDRESS, 1024, one);
        write(ADDRESS, 1024, view);
        checks.follow(two, checks.point(one));
        write(ADDRESS, 1024, two);
        checks.follow(one, checks.point(two));
        write(ADDRESS, 1024, view);
        checks.done(checks.point(one));
        one.close();
        checks.ended(one);
        write(ADDRESS, 1024, view); // goes on
        assertHazard(Kind.REUSE_IN_FLIGHT, () -> write(ADDRESS, 1, two));
        final SyncStream another = new FakeStream(OTHER_DEVICE).handle(one.handle());
        assertHazard(Kind.REUSE_IN_FLIGHT, () -> write(ADDRESS, 1, another));
    }

    @Test
    void aHandleThatComesAgainIsAnotherStream() {
        allocate(ADDRESS, 1024, null);
        write(ADDRESS, 1024, one);
        one.close();
        checks.ended(one);
        final SyncStream next = new FakeStream(MEMORY).handle(one.handle());
        write(ADDRESS, 1024, next);
        assertHazard(Kind.REUSE_IN_FLIGHT, () -> write(ADDRESS, 1, two));
    }

    @Test
    void nothingIsRecordedUntilAnAllocatorIsChecked() {
        final StreamChecks off = StreamChecks.of(SimulatedCudaDriver.builder().build());
        assertThat(off.isOn()).isFalse();
        assertThat(off.point(one)).isNull();
        off.follow(two, null);
        off.done(null);
    }
}
