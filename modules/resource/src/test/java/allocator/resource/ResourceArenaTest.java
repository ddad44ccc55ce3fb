package allocator.resource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.testkit.FaultyCalls;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.junit.jupiter.api.Test;

class ResourceArenaTest {
    private final FakeResource addresses = new FakeResource(1000);

    @Test
    void closingDeallocatesAllSegments() {
        try (HostResource host = new HostResource()) {
            StatisticsResource counted = new StatisticsResource(host);
            MemorySegment segment;
            try (ResourceArena arena = ResourceArena.ofConfined(counted)) {
                segment = arena.allocateFrom(ValueLayout.JAVA_LONG, 42);
                arena.allocateFrom("text");
                assertThat(segment.get(ValueLayout.JAVA_LONG, 0)).isEqualTo(42);
                assertThat(counted.statistics().blocks()).isEqualTo(2);
                assertThat(arena.allocate(0).byteSize()).isZero();
            }
            assertThat(counted.statistics().blocks()).isZero();
            assertThatThrownBy(() -> segment.get(ValueLayout.JAVA_LONG, 0)).isInstanceOf(IllegalStateException.class);
        }
    }

    @Test
    void anAllocationAfterCloseLeavesNothingBehind() {
        try (HostResource host = new HostResource()) {
            StatisticsResource counted = new StatisticsResource(host);
            ResourceArena arena = ResourceArena.ofShared(counted);
            arena.close();
            assertThatThrownBy(() -> arena.allocate(8)).isInstanceOf(IllegalStateException.class);
            assertThat(counted.statistics().blocks()).isZero();
        }
    }

    @Test
    void aCloseThatFailsTriesEverySegmentAndAnotherCloseTheRest() {
        FakeResource host = new FakeResource(MemoryKind.HOST, 1000);
        ResourceArena arena = ResourceArena.ofConfined(host);
        arena.allocate(100);
        arena.allocate(200);
        arena.allocate(300);
        FaultyCalls calls = new FaultyCalls();
        host.before(calls);
        calls.failAt(2, false, () -> new AssertionError("injected"));
        assertThatThrownBy(arena::close).hasMessage("injected");
        assertThat(host.bytes()).isEqualTo(200);
        arena.close();
        assertThat(host.bytes()).isZero();
        assertThatThrownBy(arena::close).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void memoryThatTheHostCannotAccessIsRejected() {
        assertThatThrownBy(() -> ResourceArena.ofShared(addresses)).isInstanceOf(IllegalArgumentException.class);
    }
}
