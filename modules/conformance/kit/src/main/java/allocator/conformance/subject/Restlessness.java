package allocator.conformance.subject;

import allocator.spi.Allocator;
import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorStats;
import allocator.spi.EpFactory;
import allocator.spi.MemoryInfo;
import allocator.spi.SpiLevel;
import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncStream;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** Whether the statistics of an allocator change while nobody calls it, as free memory goes back by itself (S-01). */
final class Restlessness {
    /** It may go back before the first look. */
    private static final int TRIES = 4;

    private static final Duration PAUSE = Duration.ofMillis(5);

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
            return changes(allocator, patience) || isSeenOnAStream(factory, allocator, patience);
        } finally {
            factory.releaseAllocator(allocator);
        }
    }

    private static boolean changes(Allocator allocator, Duration patience) throws InterruptedException {
        final AllocatorStats before = allocator.stats().withoutCounters();
        // Looks are counted and not the time: a busy machine delays what is looked for as well.
        for (long looks = patience.dividedBy(PAUSE); looks > 0; looks--) {
            Thread.sleep(PAUSE);
            if (!allocator.stats().withoutCounters().equals(before)) {
                return true;
            }
        }
        return false;
    }

    /** Frees blocks of a stream, which may go back when the device has come to the free. */
    private static boolean isSeenOnAStream(EpFactory factory, Allocator allocator, Duration patience)
            throws InterruptedException {
        if (!(allocator instanceof StreamAwareAllocator streamAware) || !factory.isStreamAware(allocator.info())) {
            return false;
        }
        final SyncStream stream = factory.createSyncStream(allocator.info());
        try {
            for (int i = 0; i < TRIES; i++) {
                streamAware.free(streamAware.allocOnStream(64_000, stream));
                if (changes(allocator, patience.dividedBy(TRIES))) {
                    return true;
                }
            }
            return false;
        } finally {
            stream.close();
        }
    }
}
