package allocator.spi;

import java.util.Collections;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;

/**
 * A hardware device that a provider found.
 *
 * @param type kind of the device
 * @param vendorId PCI vendor, {@code 0} if there is none
 * @param deviceId PCI device, which names the model and not the individual card; {@code 0} if there is none
 * @param name a name for a person to read, such as the one that the driver reports; not blank
 * @param metadata further facts for a person to read, such as memory size or driver version, that do not change (F-02);
 *     in key order
 */
public record HardwareDevice(DeviceType type, int vendorId, int deviceId, String name, Map<String, String> metadata) {
    /**
     * Checks the components and copies the metadata.
     *
     * @throws IllegalArgumentException if the name is blank
     */
    public HardwareDevice {
        Objects.requireNonNull(type, "type");
        if (name.isBlank()) {
            throw new IllegalArgumentException("the name of a hardware device is blank");
        }
        metadata = Collections.unmodifiableMap(new TreeMap<>(metadata));
    }
}
