package allocator.spi;

import java.util.List;

/**
 * The result of a provider's search for its hardware.
 *
 * @param devices the devices that it serves, possibly none
 * @param notes for a person to read: one line for everything that cannot be used, with the reason, such as {@code no
 *     CUDA driver: libcuda.so.1 not found}. At least one line if there is no device (F-03)
 */
public record DeviceDiscovery(List<EpDevice> devices, List<String> notes) {
    /**
     * Copies the lists and checks that an empty result is explained.
     *
     * @throws IllegalArgumentException if there is neither a device nor a note
     */
    public DeviceDiscovery {
        devices = List.copyOf(devices);
        notes = List.copyOf(notes);
        if (devices.isEmpty() && notes.isEmpty()) {
            throw new IllegalArgumentException("no device and no note: say in a note why no device was found");
        }
    }

    /**
     * {@return a discovery of devices, without notes}
     *
     * @param devices at least one device
     */
    public static DeviceDiscovery of(EpDevice... devices) {
        return new DeviceDiscovery(List.of(devices), List.of());
    }

    /**
     * {@return a discovery of no device}
     *
     * @param reason why, in words that help to solve it
     */
    public static DeviceDiscovery none(String reason) {
        return new DeviceDiscovery(List.of(), List.of(reason));
    }
}
