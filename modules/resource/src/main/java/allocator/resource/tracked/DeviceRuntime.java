package allocator.resource.tracked;

import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.function.IntFunction;

/**
 * The tracked memory and the streams that a process shares on one device.
 *
 * @param memory the memory
 * @param streams the streams
 */
public record DeviceRuntime(TrackedMemory memory, StreamPool streams) {
    private static final ConcurrentMap<Integer, DeviceRuntime> OF_DEVICES = new ConcurrentHashMap<>();

    /**
     * Returns the only runtime of a device in this process. The first caller starts it, and concurrent callers wait. If
     * the start fails, the next caller tries again. A runtime is never closed.
     *
     * @param device the device's ordinal
     * @param start creates the runtime
     * @return the same runtime for every caller
     */
    public static DeviceRuntime of(int device, IntFunction<DeviceRuntime> start) {
        return OF_DEVICES.computeIfAbsent(
                device, ordinal -> Objects.requireNonNull(start.apply(ordinal), "the start of a device returned null"));
    }
}
