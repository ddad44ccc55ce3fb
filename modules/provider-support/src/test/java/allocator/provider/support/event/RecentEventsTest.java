package allocator.provider.support.event;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.tuple;

import allocator.provider.support.event.RecentEvent.Kind;
import allocator.spi.AllocatorType;
import allocator.spi.DeviceType;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryLocation;
import allocator.spi.MemoryType;
import allocator.spi.OutOfMemoryException;
import allocator.spi.OutOfMemoryException.Shortage;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class RecentEventsTest {
    private static final MemoryInfo MEMORY = new MemoryInfo(
            "Test", new MemoryLocation(DeviceType.CPU, 0, 0, MemoryType.DEFAULT), 64, AllocatorType.DEVICE);

    @AfterEach
    void forget() {
        AllocatorEvents.forget();
        assertThat(AllocatorEvents.recordsAllocations()).isFalse();
    }

    @Test
    void eachKindIsRemembered() {
        assertThat(AllocatorEvents.recent()).isEmpty();
        AllocatorEvents.remember(8);
        assertThat(AllocatorEvents.recordsAllocations()).isTrue();
        assertThat(AllocatorEvents.recordsFrees()).isTrue();
        AllocatorEvents.growing(MEMORY, DevicePart.REGION, 4096).end(true, 0x1000);
        AllocatorEvents.growing(MEMORY, DevicePart.REGION, 8192).end(false, 0);
        AllocatorEvents.allocated("bert", MEMORY, 0x1000, 100, 7, false, "");
        AllocatorEvents.freeing("bert", MEMORY, 0x1000);
        AllocatorEvents.failed(
                "bert", 5000, new OutOfMemoryException("none left", Shortage.ofDevice(MEMORY, 5000, 12)), "");
        AllocatorEvents.shrinking(MEMORY, DevicePart.REGION, 4096).end(true, 0x1000);
        assertThat(AllocatorEvents.recent())
                .extracting(
                        RecentEvent::kind,
                        RecentEvent::owner,
                        RecentEvent::address,
                        RecentEvent::byteSize,
                        RecentEvent::stream)
                .containsExactly(
                        tuple(Kind.GROWTH, "", 0x1000L, 4096L, 0L),
                        tuple(Kind.ALLOCATION, "bert", 0x1000L, 100L, 7L),
                        tuple(Kind.FREE, "bert", 0x1000L, 0L, 0L),
                        tuple(Kind.FAILURE, "bert", 0L, 5000L, 0L),
                        tuple(Kind.SHRINK, "", 0x1000L, 4096L, 0L));
        assertThat(AllocatorEvents.recent())
                .allSatisfy(event -> assertThat(event.nanosAgo()).isNotNegative());
    }

    /** The clock is not asked at each allocation and free: a failure has its own time. */
    @Test
    void aFailureHasItsOwnTimeAfterAPause() throws InterruptedException {
        AllocatorEvents.remember(8);
        AllocatorEvents.allocated("bert", MEMORY, 0x1000, 100, 7, false, "");
        Thread.sleep(300);
        AllocatorEvents.failed(
                "bert", 5000, new OutOfMemoryException("none left", Shortage.ofDevice(MEMORY, 5000, 12)), "");
        final long[] ago = AllocatorEvents.recent().stream()
                .mapToLong(RecentEvent::nanosAgo)
                .toArray();
        assertThat(ago[0] - ago[1]).isGreaterThanOrEqualTo(300_000_000);
    }

    @Test
    void theLatestOfManyAreKept() {
        AllocatorEvents.remember(5); // rounded up to 8
        for (int i = 1; i <= 100; i++) {
            AllocatorEvents.allocated("s", MEMORY, i, 1, 0, false, "");
        }
        assertThat(AllocatorEvents.recent())
                .extracting(RecentEvent::address)
                .containsExactly(93L, 94L, 95L, 96L, 97L, 98L, 99L, 100L);
    }

    @Test
    void theyAreForgottenWhenTheLastUserLeaves() {
        AllocatorEvents.remember(1);
        AllocatorEvents.remember(1000);
        AllocatorEvents.allocated("s", MEMORY, 1, 1, 0, false, "");
        AllocatorEvents.forget();
        assertThat(AllocatorEvents.recent()).hasSize(1);
        AllocatorEvents.forget();
        assertThat(AllocatorEvents.recent()).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(ints = {Integer.MIN_VALUE, -1, 0, AllocatorEvents.MOST_RECENT + 1, Integer.MAX_VALUE})
    void otherNumbersAreRejected(int count) {
        assertThatIllegalArgumentException().isThrownBy(() -> AllocatorEvents.remember(count));
    }

    /** Each event has an address that follows from its size: what is read is of one event, whatever is written. */
    @Test
    void aReaderSeesNoMixture() throws InterruptedException {
        AllocatorEvents.remember(64);
        final AtomicBoolean isOver = new AtomicBoolean();
        final Thread writer = Thread.ofPlatform().start(() -> {
            for (long n = 0; !isOver.get(); n++) {
                AllocatorEvents.allocated("s", MEMORY, n * 31, n, n, false, "");
            }
        });
        try {
            for (int i = 0; i < 3_000; i++) {
                assertThat(AllocatorEvents.recent())
                        .allMatch(event ->
                                event.address() == event.byteSize() * 31 && event.stream() == event.byteSize());
            }
        } finally {
            isOver.set(true);
            writer.join();
        }
    }
}
