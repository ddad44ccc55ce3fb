package allocator.arena;

/**
 * How large the next region is: the state of doubling, and the steps down when the device refuses.
 *
 * <p>No value of a setting makes it overflow or run on: a region has at most {@link #MAX_REGION} bytes, and doubling
 * stops there.
 */
final class Growth {
    /** The largest region. */
    static final long MAX_REGION = Units.toBytes(Chunks.MAX_REGION_UNITS);

    /** What is left of a region's size after the device refused it. */
    private static final float BACK_OFF = 0.9f;

    /** The least size to fall back to: below it, rounding would undo the step. */
    private static final long LEAST_BACK_OFF = 8192;

    private final ArenaConfig config;
    private long next;

    Growth(ArenaConfig config) {
        this.config = config;
        next = Math.min(Units.roundUp(Math.min(config.limit(), Units.MAX_BYTES)), config.initialChunkBytes());
    }

    /** What doubling asks for next. */
    long next() {
        return next;
    }

    /** Goes back to where it was. */
    void restore(long before) {
        next = before;
    }

    /** Begins anew, after a shrink. */
    void restart() {
        next = config.initialGrowthChunkBytes();
    }

    /**
     * Says how much to ask for, and moves on.
     *
     * @param rounded what the region has to hold, at most {@link #MAX_REGION}
     * @return bytes, from {@code rounded} to {@link #MAX_REGION}
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

    /** What to ask for after {@code asked} was refused, 0 if there is no use in asking for less. */
    static long afterRefusalOf(long asked, long rounded) {
        final long less = Units.roundUp((long) (asked * BACK_OFF));
        return less < rounded || less < LEAST_BACK_OFF ? 0 : less;
    }
}
