package allocator.cuda.memory;

import allocator.spi.AllocatorOptions;
import allocator.spi.InvalidOptionException;
import allocator.spi.OptionKey;
import java.util.List;

/**
 * The settings of a {@link DriverPool}.
 *
 * @param maxMem the most that the pool may hold, {@code 0} for no limit
 * @param releaseThreshold how much the pool keeps when the host synchronizes with the device
 * @param bytesToKeepOnShrink how much it keeps when it is shrunk
 */
public record PoolSettings(long maxMem, long releaseThreshold, long bytesToKeepOnShrink) {
    /** {@code arena.max_mem}. */
    public static final OptionKey<Long> MAX_MEM = OptionKey.bytes(
            "arena.max_mem",
            0,
            "the most that the pool may hold, rounded up to what the driver takes at once; 0 is no limit");

    /** {@code arena.cuda_mempool_release_threshold}. */
    public static final OptionKey<Long> RELEASE_THRESHOLD = OptionKey.bytes(
            "arena.cuda_mempool_release_threshold",
            Long.MAX_VALUE,
            "bytes that the pool keeps when the device is synchronized; 0 gives all free memory back each time");

    /** {@code arena.cuda_mempool_bytes_to_keep_on_shrink}. */
    public static final OptionKey<Long> BYTES_TO_KEEP_ON_SHRINK = OptionKey.bytes(
            "arena.cuda_mempool_bytes_to_keep_on_shrink", 0, "bytes that the pool keeps when it is shrunk");

    /** All of them. */
    public static final List<OptionKey<?>> KEYS = List.of(MAX_MEM, RELEASE_THRESHOLD, BYTES_TO_KEEP_ON_SHRINK);

    /**
     * Reads the keys of {@link #KEYS}; other keys are left to the caller to check.
     *
     * @param options the settings asked for
     * @return the settings
     * @throws InvalidOptionException if a value is not accepted
     */
    public static PoolSettings from(AllocatorOptions options) {
        return new PoolSettings(
                options.get(MAX_MEM), options.get(RELEASE_THRESHOLD), options.get(BYTES_TO_KEEP_ON_SHRINK));
    }
}
