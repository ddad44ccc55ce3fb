package allocator.conformance.rules;

import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.conformance.ConformanceSettings;
import allocator.conformance.subject.Expect;
import allocator.conformance.subject.ProviderFixture;
import allocator.conformance.subject.Subject;
import allocator.spi.AllocatorStats;
import allocator.spi.AllocatorType;
import allocator.spi.DeviceType;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryLocation;
import allocator.spi.MemoryType;
import allocator.spi.SpiLevel;
import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncNotification;
import allocator.spi.SyncStream;
import java.time.Duration;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.opentest4j.AssertionFailedError;

/** Freed memory that comes again on another stream is a fault, unless it went back to the device in between. */
class FreedMemoryTest {
    private static final MemoryInfo MEMORY = new MemoryInfo(
            "Scripted", new MemoryLocation(DeviceType.GPU, 0, 0, MemoryType.DEFAULT), 1, AllocatorType.DEVICE);

    private final Scripted allocator = new Scripted();
    private final SyncStream first = new Idle();
    private final SyncStream second = new Idle();
    private final FreedMemory freed = new FreedMemory(
            new Subject(
                    new ProviderFixture(
                            () -> {
                                throw new IllegalStateException("no factory is needed");
                            },
                            _ -> Optional.empty()),
                    new ConformanceSettings(1, true, Duration.ofSeconds(1)),
                    MEMORY),
            allocator);

    private void requireApart(long address, SyncStream user) {
        allocator.next = address;
        freed.requireApart(freed.allocate(100, user), 100, user, "taken");
    }

    @Test
    void whatComesAgainOnAnotherStreamIsAFault() {
        freed.free(1000, 100, first);
        assertThatCode(() -> requireApart(1100, second)).doesNotThrowAnyException();
        assertThatCode(() -> requireApart(1000, first)).doesNotThrowAnyException();
        assertThatThrownBy(() -> requireApart(1099, second))
                .isInstanceOf(AssertionFailedError.class)
                .hasMessage("taken");
    }

    @Test
    void aBlockThatWentBackMayComeAgain() {
        freed.free(2000, 100, first);
        allocator.returnedByFree = 100;
        freed.free(1000, 100, first);
        assertThatCode(() -> requireApart(1000, second)).doesNotThrowAnyException();
        assertThatThrownBy(() -> requireApart(2000, second)).isInstanceOf(AssertionFailedError.class);
    }

    @Test
    void allOfARegionThatWentBackMayComeAgain() {
        freed.free(2000, 100, first);
        allocator.returnedByFree = 400;
        freed.free(1000, 100, first);
        assertThatCode(() -> requireApart(2000, second)).doesNotThrowAnyException();
    }

    @Test
    void whatWentBackByItselfMayComeAgain() {
        freed.free(2000, 100, first);
        allocator.held -= 1;
        assertThatCode(() -> requireApart(2000, second)).doesNotThrowAnyException();
    }

    @Test
    void ofAnAllocatorThatCountsNothingItIsNotKnown() {
        allocator.counts = false;
        freed.free(1000, 100, first);
        assertThatThrownBy(() -> requireApart(1000, second)).isInstanceOf(Expect.Skip.class);
    }

    /** An allocator that returns the address and holds the bytes that a test sets. */
    private static final class Scripted implements StreamAwareAllocator {
        private long next;
        private long returnedByFree;
        private long held = 1000;
        private long inUse = 500;
        private boolean counts = true;

        @Override
        public MemoryInfo info() {
            return MEMORY;
        }

        @Override
        public int spiLevel() {
            return SpiLevel.STREAMS;
        }

        @Override
        public long alloc(long byteSize) {
            return next;
        }

        @Override
        public long allocOnStream(long byteSize, SyncStream stream) {
            return next;
        }

        @Override
        public void free(long address) {
            inUse -= 100;
            held -= returnedByFree;
        }

        @Override
        public AllocatorStats stats() {
            return counts
                    ? new AllocatorStats.Builder()
                            .inUse(inUse, inUse, 500)
                            .held(held, 1000)
                            .build()
                    : AllocatorStats.NONE;
        }
    }

    /** A stream without work. */
    private static final class Idle extends SyncStream {
        Idle() {
            super(MEMORY);
        }

        @Override
        public long handle() {
            return 0;
        }

        @Override
        public SyncNotification createNotification() {
            throw new UnsupportedOperationException();
        }

        @Override
        public void flush() {}

        @Override
        public void onSessionRunEnd() {}

        @Override
        public void close() {}
    }
}
