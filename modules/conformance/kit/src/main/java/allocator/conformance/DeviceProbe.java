package allocator.conformance;

import allocator.spi.MemoryInfo;
import java.util.List;
import java.util.OptionalLong;

/**
 * A view of the device beneath a provider, independent of the provider: the memory actually taken from the device, and
 * device calls that fail on request. A vendor with a simulated device, or with counters in the driver, supplies one
 * through {@link AllocatorConformance#probe}. The kit then also proves the rules that cannot be observed through the
 * provider alone.
 *
 * <p>A probe belongs to one factory. It is used by one thread at a time, but not always by the same thread.
 */
public interface DeviceProbe {
    /**
     * Returns the memory that the provider has taken from the device and not returned, as counted by the device.
     *
     * @param memory one of the infos that the factory lists
     * @return bytes; empty if the device does not count this memory
     */
    OptionalLong bytesHeld(MemoryInfo memory);

    /** {@return how many calls took memory, returned it, copied, or worked on streams so far, failed ones included} */
    long calls();

    /**
     * Makes one future call fail, as a driver may fail for reasons outside the caller's control.
     *
     * @param number the call that raises {@link #calls} to this number fails, and no other; {@code 0} cancels the
     *     failure
     */
    void failCall(long number);

    /**
     * Makes future calls throw something of the kit's choice before they have any effect, as the binding of a driver
     * may: a shortage, a failure of its own, or an error of the Java virtual machine.
     *
     * @param number the first call to fail is the one that raises {@link #calls} to this number; {@code 0} cancels all
     *     failures
     * @param isLasting whether all calls from then on fail, or only that one
     * @param failure called in place of the device's work, on the thread that makes the call; throws
     * @return whether the device can do that; by default it cannot
     */
    default boolean failCalls(long number, boolean isLasting, Runnable failure) {
        return false;
    }

    /**
     * Sets whether streams lag. A lagging stream keeps its work queued until something waits for it, as on a busy
     * device; other streams perform their work at once.
     *
     * @param lagging whether work stays queued
     */
    void lag(boolean lagging);

    /**
     * {@return a line for each fault that the device has detected, such as queued work that touched memory already
     * returned; empty if there is none}
     */
    default List<String> faults() {
        return List.of();
    }

    /** {@return a line for each leak from the device, once the factory is closed; empty if there is none} */
    default List<String> leaks() {
        return List.of();
    }
}
