package allocator.arena.chunk;

import java.util.stream.LongStream;

/** The numbers at which arithmetic of 64 bits goes wrong first. */
public final class Boundaries {
    private Boundaries() {}

    /**
     * Returns every power of two, the largest number less a granule and less a page, and what differs from these by up
     * to two, within a range.
     */
    public static long[] within(long least, long most) {
        final LongStream powers = LongStream.range(0, Long.SIZE).map(bit -> 1L << bit);
        final LongStream largest = LongStream.of(Long.MAX_VALUE - 255, Long.MAX_VALUE - 4095);
        return LongStream.concat(powers, largest)
                .flatMap(middle -> LongStream.rangeClosed(-2, 2).map(by -> middle + by))
                .filter(number -> number >= least && number <= most)
                .distinct()
                .toArray();
    }
}
