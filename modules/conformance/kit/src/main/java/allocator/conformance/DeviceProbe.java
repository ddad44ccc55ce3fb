package allocator.conformance;

import allocator.spi.MemoryInfo;
import java.util.List;
import java.util.OptionalLong;

/**
 * A view of the device beneath a provider, past the provider itself: what was really taken from it, and calls that fail
 * on demand. A vendor who has a simulated device, or counters in the driver, offers it through
 * {@link AllocatorConformance#probe}; rules that cannot be proved from outside are then proved too.
 *
 * <p>A probe belongs to one factory. It is used by one thread at a time, not always the same one.
 */
public interface DeviceProbe {
    /**
     * What the provider has taken from the device and not returned, by the device's own account.
     *
     * @param memory one of the infos that the factory lists
     * @return bytes; empty if the device does not tell for this memory
     */
    OptionalLong bytesHeld(MemoryInfo memory);

    /**
     * How many calls to the device were made so far, failed ones included.
     *
     * @return calls that take memory, give it back, copy, or work on streams
     */
    long calls();

    /**
     * Makes one call fail that is still to come, as a driver fails for no reason of the caller's.
     *
     * @param number the call that makes {@link #calls} reach this number fails, and no other; {@code 0}: none fails
     */
    void failCall(long number);

    /**
     * Makes streams keep their work until somebody waits for it, as a busy device does, or lets them work at once.
     *
     * @param lagging whether work stays queued
     */
    void lag(boolean lagging);

    /**
     * What the device saw go wrong, such as queued work that touched memory already returned.
     *
     * @return a line for each fault, empty if there is none
     */
    default List<String> faults() {
        return List.of();
    }

    /**
     * What is still taken from the device. Asked after the factory is closed.
     *
     * @return a line for each thing, empty if there is none
     */
    default List<String> leaks() {
        return List.of();
    }
}
