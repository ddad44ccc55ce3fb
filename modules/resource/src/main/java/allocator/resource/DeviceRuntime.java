package allocator.resource;

import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.function.IntFunction;

/**
 * What a process shares on one device: tracked memory and streams.
 *
 * @param memory the memory
 * @param streams the streams
 */
public record DeviceRuntime(TrackedMemory memory, StreamPool streams) {
    private static final ConcurrentMap<Integer, DeviceRuntime> OF_DEVICES = new ConcurrentHashMap<>();

    /**
     * The process's only one for a device. The first caller starts it, and others wait for that; a start that fails
     * leaves nothing behind, so that the next caller tries again.
     *
     * @param device the device's ordinal
     * @param start starts it
     * @return the same one for every caller
     */
    public static DeviceRuntime of(int device, IntFunction<DeviceRuntime> start) {
        return OF_DEVICES.computeIfAbsent(device, start::apply);
    }
}
