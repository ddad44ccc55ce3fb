package allocator.resource.log;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.tuple;

import allocator.provider.support.event.AllocatorEvents;
import allocator.provider.support.event.RecentEvent;
import allocator.provider.support.event.RecentEvent.Kind;
import allocator.resource.FakeResource;
import allocator.spi.OutOfMemoryException;
import allocator.testkit.FakeStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Events of a resource, as the process remembers them. */
class EventLogTest {
    private final FakeResource addresses = new FakeResource(1000);
    private final FakeStream stream = new FakeStream(addresses.memory());
    private final EventLog log = new EventLog("cache", addresses.memory());

    @AfterEach
    void forget() {
        AllocatorEvents.forget();
    }

    @Test
    void aBlockHasAnEventOfItsAllocationAndOneOfItsFree() {
        AllocatorEvents.remember(16);
        final LoggingResource logged = new LoggingResource(addresses, log);
        final long first = logged.allocate(100);
        final long second = logged.allocate(200, 8, stream);
        logged.deallocate(second, 200, 8, stream);
        logged.deallocate(first, 100);
        assertThat(AllocatorEvents.recent())
                .extracting(
                        RecentEvent::kind,
                        RecentEvent::owner,
                        RecentEvent::address,
                        RecentEvent::byteSize,
                        RecentEvent::stream)
                .containsExactly(
                        tuple(Kind.ALLOCATION, "cache", first, 100L, 0L),
                        tuple(Kind.ALLOCATION, "cache", second, 200L, stream.id()),
                        tuple(Kind.FREE, "cache", second, 0L, 0L),
                        tuple(Kind.FREE, "cache", first, 0L, 0L));
        assertThat(AllocatorEvents.recent()).extracting(RecentEvent::memory).containsOnly(addresses.memory());
    }

    @Test
    void aRequestThatFailsAndAnEmptyBlockHaveNone() {
        AllocatorEvents.remember(16);
        final LoggingResource logged = new LoggingResource(addresses, log);
        assertThatThrownBy(() -> logged.allocate(2000)).isInstanceOf(OutOfMemoryException.class);
        log.allocated(0, 0, null);
        log.freed(0, 0, null);
        assertThat(AllocatorEvents.recent()).isEmpty();
    }

    @Test
    void nothingIsRecordedAndNothingDroppedUnlessItIsAsked() {
        final LoggingResource logged = new LoggingResource(addresses, log);
        logged.deallocate(logged.allocate(100), 100);
        assertThat(AllocatorEvents.recent()).isEmpty();
        assertThat(log.droppedRecords()).isZero();
    }
}
