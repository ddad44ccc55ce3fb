package allocator.conformance.subject;

import allocator.spi.Allocator;
import allocator.spi.AllocatorOptions;
import allocator.spi.EpFactory;
import allocator.spi.MemoryInfo;
import allocator.spi.OutOfMemoryException;
import allocator.spi.OutOfMemoryException.Shortage;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** The free memory that the kit needs of each memory, and whether a provider says that one has less. */
final class Room {
    /** The free memory that the kit expects of each memory, and of an allocator without options, in bytes. */
    static final long EXPECTED = 256L << 20;

    private static final long BLOCK = EXPECTED / 4;

    /** More than any device has. */
    private static final long TOO_MUCH = 1L << 50;

    private Room() {}

    /**
     * Returns why a memory cannot be tested, or empty. It can unless a shortage says that the device has less than the
     * kit expects, and it has: where a request fails in another way, or a figure is wrong, the tests report it.
     *
     * @param factory a factory of its own, which has discovered its devices
     */
    static Optional<String> obstacle(EpFactory factory, MemoryInfo memory) {
        final Allocator allocator = factory.createAllocator(memory, AllocatorOptions.EMPTY);
        try {
            return obstacle(allocator);
        } finally {
            factory.releaseAllocator(allocator);
        }
    }

    private static Optional<String> obstacle(Allocator allocator) {
        final long free;
        try {
            allocator.free(allocator.alloc(TOO_MUCH));
            return Optional.empty();
        } catch (OutOfMemoryException e) {
            free = free(e.shortage(), 0);
        }
        return free < EXPECTED && !grantsAll(allocator)
                ? Optional.of("the memory has %d KiB free, by its provider; the kit needs %d MiB"
                        .formatted(free >> 10, EXPECTED >> 20))
                : Optional.empty();
    }

    /** Returns what an allocator could have at most, with what it has; the most there is if that is not known. */
    private static long free(Shortage shortage, long live) {
        return shortage.deviceFree() == OutOfMemoryException.UNKNOWN
                ? Long.MAX_VALUE
                : shortage.deviceFree() + Math.max(live, shortage.held());
    }

    /** Returns whether the expected memory can be allocated, or may be and the attempt fails for another reason. */
    private static boolean grantsAll(Allocator allocator) {
        final List<Long> live = new ArrayList<>();
        try {
            while (live.size() * BLOCK < EXPECTED) {
                live.add(allocator.alloc(BLOCK));
            }
            return true;
        } catch (OutOfMemoryException e) {
            return free(e.shortage(), live.size() * BLOCK) >= EXPECTED;
        } finally {
            live.forEach(allocator::free);
        }
    }
}
