package allocator.conformance.rules.blocks;

import allocator.conformance.subject.Subject;
import allocator.spi.Allocator;
import allocator.spi.OutOfMemoryException;
import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncStream;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;

/** Free chunks, and what is requested of them. */
final class FreeChunk {
    private static final int TRIES = 4;

    private FreeChunk() {}

    /**
     * Returns a size that takes no more than a chunk, as an allocator rounds it; 0 if its rounding does not say, as of
     * one that has classes of sizes or reuses larger blocks as a whole.
     *
     * @param rounding another allocator
     */
    static long fitting(Subject subject, Allocator rounding, long chunk) {
        if (chunk == 0) {
            return 0;
        }
        try {
            rounding.free(rounding.alloc(4 * chunk)); // in a region of twice its size a chunk is not split
        } catch (OutOfMemoryException e) {
            return 0;
        }
        final long padding = subject.paddingOf(rounding, rounding::alloc, chunk);
        long byteSize = chunk;
        for (int i = 0; i < TRIES && byteSize > padding; i++) {
            byteSize -= padding;
            if (byteSize + subject.paddingOf(rounding, rounding::alloc, byteSize) <= chunk) {
                return byteSize;
            }
        }
        return 0;
    }

    /**
     * Allocates blocks of streams and of none, frees most of them, and returns the others.
     *
     * @param live how many of forty are left
     */
    static List<Long> scatter(
            StreamAwareAllocator allocator, List<SyncStream> streams, SplittableRandom random, int live) {
        final List<Long> blocks = new ArrayList<>();
        while (blocks.size() < 40) {
            final int stream = random.nextInt(-1, 2 * streams.size());
            final long byteSize = 1 + random.nextLong(1L << random.nextInt(8, 14));
            blocks.add(
                    stream < 0
                            ? allocator.alloc(byteSize)
                            : allocator.allocOnStream(byteSize, streams.get(stream % streams.size())));
        }
        while (blocks.size() > live) {
            allocator.free(blocks.remove(random.nextInt(blocks.size())));
        }
        return blocks;
    }
}
