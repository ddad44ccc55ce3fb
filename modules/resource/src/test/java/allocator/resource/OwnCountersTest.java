package allocator.resource;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.spi.AllocatorStats;
import allocator.spi.AllocatorStats.Unit;
import allocator.spi.DeviceType;
import allocator.spi.MemoryType;
import allocator.testkit.FakeAllocator;
import allocator.testkit.FakeMemory;
import org.junit.jupiter.api.Test;

/** Counters of an allocator's own pass through every decorator. */
class OwnCountersTest {
    private static final class Counting extends FakeAllocator {
        private final String name;

        Counting(String name) {
            super(FakeMemory.memory("Fake", DeviceType.CPU, 0, MemoryType.DEFAULT));
            this.name = name;
        }

        @Override
        public AllocatorStats stats() {
            return new AllocatorStats.Builder()
                    .inUse(0, 0, 0)
                    .counter(name, 3, Unit.COUNT, true)
                    .build();
        }
    }

    private static MemoryResource of(String name) {
        return new AllocatorResource(new Counting(name));
    }

    @Test
    void throughAStackThatIsAnAllocatorAgain() {
        try (ResourceAllocator allocator =
                ResourceAllocator.of(new AlignedResource(new StatisticsResource(of("NumSplits")), 512))) {
            assertThat(allocator.stats().counter("NumSplits")).isPresent();
        }
    }

    @Test
    void thoseOfASecondChoiceAreAddedUnlessTheNameIsTaken() {
        final MemoryResource both = new FallbackResource(of("NumSplits"), of("NumSteals"));
        assertThat(both.stats().orElseThrow().counters())
                .extracting(AllocatorStats.Counter::name)
                .startsWith("NumSplits");
        final MemoryResource same = new FallbackResource(of("NumSplits"), of("NumSplits"));
        assertThat(same.stats().orElseThrow().counters()).hasSize(1);
    }
}
