package allocator.spi;

import java.util.List;

/**
 * What a provider found when it looked for its hardware.
 *
 * @param devices the devices it can serve, possibly none
 * @param notes for a person: one line for each thing that was looked for and cannot be used, with its reason, such as
 *     {@code no CUDA driver: libcuda.so.1 not found}. At least one line if there is no device (F-03)
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
     * Found these, and nothing to add.
     *
     * @param devices at least one device
     * @return the discovery
     */
    public static DeviceDiscovery of(EpDevice... devices) {
        return new DeviceDiscovery(List.of(devices), List.of());
    }

    /**
     * Found nothing.
     *
     * @param reason why, in words that help a person to change it
     * @return the discovery
     */
    public static DeviceDiscovery none(String reason) {
        return new DeviceDiscovery(List.of(), List.of(reason));
    }
}
