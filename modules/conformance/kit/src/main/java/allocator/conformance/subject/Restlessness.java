package allocator.conformance.subject;

import allocator.spi.Allocator;
import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorStats;
import allocator.spi.EpFactory;
import allocator.spi.MemoryInfo;
import allocator.spi.SpiLevel;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** Whether the statistics of an allocator change while nobody calls it, as free memory goes back by itself (S-01). */
final class Restlessness {
    private Restlessness() {}

    /**
     * Frees some blocks, and looks at the statistics for a while.
     *
     * @param factory a factory of its own, which has discovered its devices
     */
    static boolean isSeen(EpFactory factory, MemoryInfo memory, Duration patience) throws InterruptedException {
        final Allocator allocator = factory.createAllocator(memory, AllocatorOptions.EMPTY);
        try {
            if (allocator.spiLevel() < SpiLevel.STATISTICS) {
                return false;
            }
            final List<Long> live = new ArrayList<>();
            for (final long byteSize : new long[] {1000, 64_000, 1 << 20}) {
                live.add(allocator.alloc(byteSize));
            }
            live.forEach(allocator::free);
            final AllocatorStats before = allocator.stats().withoutCounters();
            for (final long end = System.nanoTime() + patience.toNanos(); System.nanoTime() < end; ) {
                Thread.sleep(5);
                if (!allocator.stats().withoutCounters().equals(before)) {
                    return true;
                }
            }
            return false;
        } finally {
            factory.releaseAllocator(allocator);
        }
    }
}
