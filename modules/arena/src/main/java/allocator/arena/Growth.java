package allocator.arena;

import allocator.arena.chunk.Granules;
import allocator.arena.chunk.Region;

/**
 * The size of the next region: the state of doubling, and the steps down when the device cannot satisfy a request.
 *
 * <p>No configuration makes it overflow or loop: a region has at most {@link #MAX_REGION} bytes, and doubling stops
 * there.
 */
final class Growth {
    /** The largest size of a region. */
    static final long MAX_REGION = Region.MAX_BYTES;

    /** The factor of a region's size after the device failed to allocate it. */
    private static final float BACK_OFF = 0.9f;

    /** The least size to fall back to; below it, rounding up would undo the step. */
    private static final long LEAST_BACK_OFF = 8192;

    private final ArenaConfig config;
    private long next;

    Growth(ArenaConfig config) {
        this.config = config;
        next = Math.min(
                Granules.roundUp(Math.min(config.limit().available(0), Granules.MAX_BYTES)),
                config.initialChunkBytes());
    }

    /** Returns the size that doubling plans next. */
    long next() {
        return next;
    }

    /** Restores what {@link #next} returned before. */
    void restore(long before) {
        next = before;
    }

    /** Restarts doubling, after a shrink. */
    void restart() {
        next = config.initialGrowthChunkBytes();
    }

    /**
     * {@return the size to request: bytes, from {@code rounded} to {@link #MAX_REGION}} Advances doubling.
     *
     * @param rounded bytes that the region has to hold, at most {@link #MAX_REGION}
     */
    long plan(long rounded) {
        if (config.extendStrategy() == ExtendStrategy.SAME_AS_REQUESTED) {
            return rounded;
        }
        final boolean jumps = rounded > next;
        while (rounded > next) {
            next = next > MAX_REGION / 2 ? MAX_REGION : next * 2;
        }
        final long planned = Math.min(next, MAX_REGION);
        if (!jumps) {
            final long cap = config.maxPowerOfTwoExtendBytes();
            next = next < cap / 2 ? next * 2 : cap;
        }
        return planned;
    }

    /**
     * Returns the size to request after {@code failed} bytes could not be allocated, 0 to give up. The last attempt is
     * the request itself, which ONNX Runtime does not make: it fails where the device has room.
     */
    static long afterFailureOf(long failed, long rounded) {
        final long less = Granules.roundUp((long) (failed * BACK_OFF));
        if (less >= rounded && less >= LEAST_BACK_OFF) {
            return less;
        }
        return failed > rounded ? rounded : 0;
    }
}
