package allocator.resource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.provider.support.budget.Budget;
import allocator.resource.budget.BudgetResource;
import allocator.spi.SyncStream;
import allocator.testkit.FaultyCalls;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.jspecify.annotations.Nullable;
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

    /** As those of the JDK's own arenas: the C library hands out what was freed. */
    @Test
    void theBytesOfASegmentAre0() {
        for (int round = 0; round < 100; round++) {
            try (ResourceArena arena = BudgetResource.arena(Budget.of("images", 1 << 20))) {
                final MemorySegment segment = arena.allocate(10_000);
                assertThat(segment.toArray(ValueLayout.JAVA_BYTE)).containsOnly(0);
                segment.fill((byte) -1);
            }
        }
    }

    @Test
    void argumentsThatTheJdkRejectsAreRejectedAsThere() {
        try (ResourceArena arena = ResourceArena.ofConfined(new FakeResource(MemoryKind.HOST, 1000))) {
            assertThatIllegalArgumentException().isThrownBy(() -> arena.allocate(-1, 8));
            assertThatIllegalArgumentException().isThrownBy(() -> arena.allocate(8, 3));
            assertThatIllegalArgumentException().isThrownBy(() -> arena.allocate(8, 0));
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
        FaultyCalls calls = new FaultyCalls();
        HostResource host = new HostResource();
        StatisticsResource counted = new StatisticsResource(new Hooked(host, calls));
        ResourceArena arena = ResourceArena.ofConfined(counted);
        arena.allocate(100);
        arena.allocate(200);
        arena.allocate(300);
        calls.failAt(2, false, () -> new AssertionError("injected"));
        assertThatThrownBy(arena::close).hasMessage("injected");
        assertThat(counted.statistics().bytes()).isEqualTo(200);
        arena.close();
        assertThat(counted.statistics().bytes()).isZero();
        assertThatThrownBy(arena::close).isInstanceOf(IllegalStateException.class);
        host.close();
    }

    /** Calls a hook before each deallocation. */
    private static final class Hooked extends ResourceDecorator {
        private final FaultyCalls calls;

        Hooked(MemoryResource upstream, FaultyCalls calls) {
            super(upstream);
            this.calls = calls;
        }

        @Override
        protected long doAllocate(long byteSize, long byteAlignment, @Nullable SyncStream stream, boolean isReserve) {
            return allocateUpstream(byteSize, byteAlignment, stream, isReserve);
        }

        @Override
        protected void doDeallocate(long address, long byteSize, long byteAlignment, @Nullable SyncStream stream) {
            calls.accept("deallocate");
            deallocateUpstream(address, byteSize, byteAlignment, stream);
        }
    }

    @Test
    void memoryThatTheHostCannotAccessIsRejected() {
        assertThatThrownBy(() -> ResourceArena.ofShared(addresses)).isInstanceOf(IllegalArgumentException.class);
    }
}
