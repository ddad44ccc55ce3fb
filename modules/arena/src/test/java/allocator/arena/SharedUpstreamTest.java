package allocator.arena;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import allocator.provider.support.RetryableReturns;
import allocator.spi.Allocator;
import allocator.spi.DeviceException;
import allocator.spi.ForeignAddressException;
import allocator.spi.MemoryInfo;
import allocator.spi.SpiLevel;
import allocator.testkit.FakeDevice;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Two arenas over one upstream allocator, whose device fails: what a failed free has freed may belong to the other
 * arena by the next shrink.
 */
class SharedUpstreamTest {
    /**
     * For each arena that takes all of its memory from its upstream allocator, and no pages from a source. A bump
     * allocator leaves to its upstream allocator what was not taken back.
     */
    @ParameterizedTest
    @EnumSource(
            mode = EnumSource.Mode.EXCLUDE,
            names = {"COMPACT", "BUMP"})
    @Retention(RetentionPolicy.RUNTIME)
    @interface OnEachKind {}

    private static final long REGION = 1 << 16;

    /** An allocator that hands freed memory out again, the latest first. Every request has the same size. */
    static class Upstream implements Allocator {
        private final Deque<Long> free = new ArrayDeque<>();
        private final Map<Long, Long> live = new HashMap<>();
        final Map<Long, Long> unreturned = new HashMap<>();
        private long next = 1 << 20;

        /** What the next return throws. */
        @Nullable
        RuntimeException failure;

        @Override
        public long alloc(long byteSize) {
            final long address = free.isEmpty() ? next : free.pop();
            next = Math.max(next, address + REGION);
            live.put(address, byteSize);
            return address;
        }

        @Override
        public void free(long address) {
            if (!live.containsKey(address)) {
                throw new ForeignAddressException(address, "it is not live");
            }
            try {
                fail();
            } catch (DeviceException e) {
                unreturned.put(address, live.remove(address));
                throw e;
            }
            live.remove(address);
            free.push(address);
        }

        /** Returns unreturned memory, as a shrink of this allocator does. */
        boolean reclaim(long address) {
            if (!unreturned.containsKey(address)) {
                return false;
            }
            fail();
            unreturned.remove(address);
            free.push(address);
            return true;
        }

        private void fail() {
            final RuntimeException thrown = failure;
            failure = null;
            if (thrown != null) {
                throw thrown;
            }
        }

        boolean isLive(long address) {
            return live.containsKey(address);
        }

        long heldBytes() {
            return liveBytes()
                    + unreturned.values().stream().mapToLong(Long::longValue).sum();
        }

        long liveBytes() {
            return live.values().stream().mapToLong(Long::longValue).sum();
        }

        @Override
        public MemoryInfo info() {
            return FakeDevice.INFO;
        }

        @Override
        public int spiLevel() {
            return SpiLevel.MINIMUM;
        }
    }

    /** An allocator that returns memory again when it is asked to. */
    private static final class Retryable extends Upstream implements RetryableReturns {
        @Override
        public boolean returnAgain(long address) {
            return reclaim(address);
        }
    }

    /** Two arenas over an upstream allocator. */
    abstract static class Arenas {
        final Upstream upstream;
        private @Nullable ArenaSubject first;
        private @Nullable ArenaSubject second;

        Arenas(Upstream upstream) {
            this.upstream = upstream;
        }

        void open(ArenaSubject.Kind kind) {
            first = kind.open(upstream);
            second = kind.open(upstream);
        }

        ArenaSubject first() {
            assertThat(first).isNotNull();
            return first;
        }

        ArenaSubject second() {
            assertThat(second).isNotNull();
            return second;
        }

        /** Lets the device fail to take back a region of the first arena; returns its address. */
        long loseRegion() {
            final long address = first().alloc(REGION);
            first().free(address);
            upstream.failure = new DeviceException("simulated", null);
            assertThatExceptionOfType(DeviceException.class).isThrownBy(first()::shrink);
            return address;
        }

        /** Lets the device fail to take back a reserve of the first arena; returns its address. */
        long loseReserve() {
            final long address = first().reserve(REGION);
            upstream.failure = new DeviceException("simulated", null);
            assertThatExceptionOfType(DeviceException.class).isThrownBy(() -> first().free(address));
            return address;
        }

        /** Returns the memory and hands it out to the second arena. */
        void handOut(long address) {
            upstream.reclaim(address);
            assertThat(second().alloc(REGION)).isEqualTo(address);
        }

        void expectHeld(long ofFirst, long ofSecond) {
            assertThat(first().stats().bytesHeld()).isEqualTo(ofFirst);
            assertThat(second().stats().bytesHeld()).isEqualTo(ofSecond);
            first().verify(Map.of());
            second().verify(Map.of());
        }

        void expectUntouched(long address) {
            assertThat(upstream.isLive(address)).as("what the other arena has").isTrue();
            expectHeld(0, REGION);
            assertThat(first().alloc(REGION)).isNotEqualTo(address);
        }
    }

    @Nested
    class RetryableUpstream extends Arenas {
        RetryableUpstream() {
            super(new Retryable());
        }

        @OnEachKind
        void keepsTheRegionThatItHasHandedOutToAnotherArena(ArenaSubject.Kind kind) {
            open(kind);
            final long address = loseRegion();
            expectHeld(REGION, 0);
            handOut(address);
            first().shrink();
            expectUntouched(address);
        }

        @OnEachKind
        void keepsTheReserveThatItHasHandedOutToAnotherArena(ArenaSubject.Kind kind) {
            open(kind);
            final long address = loseReserve();
            expectHeld(REGION, 0);
            handOut(address);
            first().shrink();
            expectUntouched(address);
        }

        @OnEachKind
        void keepsWhatItHasHandedOutWhenTheOtherArenaIsClosed(ArenaSubject.Kind kind) {
            open(kind);
            final long address = loseRegion();
            handOut(address);
            first().close();
            assertThat(upstream.isLive(address)).isTrue();
            second().close();
            assertThat(upstream.heldBytes()).isZero();
        }

        @OnEachKind
        void returnsMemoryAtTheNextShrinkOrClose(ArenaSubject.Kind kind) {
            open(kind);
            loseRegion();
            loseReserve();
            assertThat(upstream.liveBytes()).isZero();
            expectHeld(2 * REGION, 0);
            assertThat(upstream.heldBytes()).isEqualTo(2 * REGION);
            first().shrink();
            expectHeld(0, 0);
            assertThat(upstream.heldBytes()).isZero();
            loseReserve();
            first().close();
            assertThat(upstream.heldBytes()).isZero();
        }

        @OnEachKind
        void isTriedAgainUntilItsDeviceWorks(ArenaSubject.Kind kind) {
            open(kind);
            loseReserve();
            for (final RuntimeException failure :
                    new RuntimeException[] {new DeviceException("simulated", null), new IllegalStateException()}) {
                upstream.failure = failure;
                try {
                    first().shrink();
                } catch (DeviceException | IllegalStateException e) {
                    assertThat(e).isSameAs(failure);
                }
                expectHeld(REGION, 0);
            }
            first().shrink();
            expectHeld(0, 0);
            assertThat(upstream.heldBytes()).isZero();
        }
    }

    /** An upstream allocator that returns unreturned memory by itself only. */
    @Nested
    class ForeignUpstream extends Arenas {
        ForeignUpstream() {
            super(new Upstream());
        }

        @OnEachKind
        void keepsTheRegionThatItHasHandedOutToAnotherArena(ArenaSubject.Kind kind) {
            open(kind);
            final long address = loseRegion();
            expectHeld(0, 0);
            handOut(address);
            first().shrink();
            expectUntouched(address);
        }

        @OnEachKind
        void keepsTheReserveThatItHasHandedOutToAnotherArena(ArenaSubject.Kind kind) {
            open(kind);
            final long address = loseReserve();
            expectHeld(0, 0);
            handOut(address);
            first().shrink();
            expectUntouched(address);
            first().close();
            assertThat(upstream.isLive(address)).isTrue();
        }

        @OnEachKind
        void freesABlockAgainOfWhichAFreeHadNoEffect(ArenaSubject.Kind kind) {
            open(kind);
            final long address = first().reserve(REGION);
            upstream.failure = new IllegalStateException("simulated");
            assertThatExceptionOfType(DeviceException.class).isThrownBy(() -> first().free(address));
            expectHeld(REGION, 0);
            assertThat(upstream.isLive(address)).isTrue();
            first().shrink();
            expectHeld(0, 0);
            assertThat(upstream.liveBytes()).isZero();
        }

        @OnEachKind
        void isNotCalledAgainIfTheSecondFreeHadItsEffect(ArenaSubject.Kind kind) {
            open(kind);
            final long address = first().reserve(REGION);
            upstream.failure = new IllegalStateException("simulated");
            assertThatExceptionOfType(DeviceException.class).isThrownBy(() -> first().free(address));
            upstream.failure = new DeviceException("simulated", null);
            try {
                first().shrink();
            } catch (DeviceException e) {
                assertThat(e).hasMessage("simulated");
            }
            expectHeld(0, 0);
            handOut(address);
            first().shrink();
            expectUntouched(address);
        }
    }
}
