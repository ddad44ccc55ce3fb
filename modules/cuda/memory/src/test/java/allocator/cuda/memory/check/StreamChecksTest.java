package allocator.cuda.memory.check;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

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
    private static final long ADDRESS = 0x1000;

    private final StreamChecks checks =
            StreamChecks.of(SimulatedCudaDriver.builder().build());
    private final Object arena = new Object();
    private final SyncStream one = new FakeStream(MEMORY);
    private final SyncStream two = new FakeStream(MEMORY);

    StreamChecksTest() {
        checks.start();
    }

    private void allocate(long address, long byteSize, @Nullable SyncStream stream) {
        checks.allocated(arena, "gpu:0", false, address, byteSize, stream);
    }

    private void write(long address, long byteSize, SyncStream stream) {
        checks.use("write", stream, Span.NONE, new Span(address, byteSize));
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
        checks.allocated(arena, "gpu:0", true, ADDRESS, 1024, two);
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
    void nothingIsRecordedUntilAnAllocatorIsChecked() {
        final StreamChecks off = StreamChecks.of(SimulatedCudaDriver.builder().build());
        assertThat(off.isOn()).isFalse();
        assertThat(off.point(one)).isNull();
        off.follow(two, null);
        off.done(null);
    }
}
