package allocator.cuda.memory;

import allocator.provider.support.Limit;
import allocator.spi.AllocatorOptions;
import allocator.spi.InvalidOptionException;
import allocator.spi.OptionKey;
import java.util.List;

/**
 * The settings of a {@link DriverPool}.
 *
 * @param limit the most that the pool may hold, before it is rounded up to the driver's granularity
 * @param releaseThreshold how much the pool keeps when the host synchronizes with the device, in bytes
 * @param bytesToKeepOnShrink how much a shrink leaves in the pool at least, blocks in use included, in bytes
 * @param peers ordinals of the devices whose work may access the memory; the pool's own may be among them
 */
public record PoolSettings(Limit limit, long releaseThreshold, long bytesToKeepOnShrink, List<Integer> peers) {
    /** Copies the list. */
    public PoolSettings {
        peers = List.copyOf(peers);
    }

    /** {@code arena.cuda_mempool_release_threshold}. */
    public static final OptionKey<Long> RELEASE_THRESHOLD = OptionKey.bytes(
            "arena.cuda_mempool_release_threshold",
            Long.MAX_VALUE,
            "bytes that the pool keeps when the device is synchronized; 0 gives all free memory back each time");

    /** {@code arena.cuda_mempool_bytes_to_keep_on_shrink}. */
    public static final OptionKey<Long> BYTES_TO_KEEP_ON_SHRINK = OptionKey.bytes(
            "arena.cuda_mempool_bytes_to_keep_on_shrink",
            0,
            "bytes that a shrink leaves in the pool at least, if it holds them, blocks in use included; the driver"
                    + " returns pieces of 32 MiB, so it may leave up to one more");

    /** All of them. */
    public static final List<OptionKey<?>> KEYS =
            List.of(Limit.KEY, RELEASE_THRESHOLD, BYTES_TO_KEEP_ON_SHRINK, PeerAccess.KEY);

    /**
     * {@return the settings that the keys of {@link #KEYS} give; other keys are left to the caller to check}
     *
     * @param options the settings asked for
     * @throws InvalidOptionException if a value is not accepted
     */
    public static PoolSettings from(AllocatorOptions options) {
        return new PoolSettings(
                Limit.from(options),
                options.get(RELEASE_THRESHOLD),
                options.get(BYTES_TO_KEEP_ON_SHRINK),
                PeerAccess.ordinals(options));
    }
}
