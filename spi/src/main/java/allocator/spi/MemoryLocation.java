package allocator.spi;

import java.io.Serializable;
import java.util.Objects;

/**
 * The location of memory: the identity of {@link MemoryInfo} in every lookup (rule M-01).
 *
 * @param deviceType kind of the device
 * @param vendorId PCI vendor of the device, {@code 0} for any
 * @param deviceOrdinal number of the device among those of its kind and vendor, from 0; one that cannot be used leaves
 *     a gap (F-03)
 * @param memoryType kind of the memory
 */
public record MemoryLocation(DeviceType deviceType, int vendorId, int deviceOrdinal, MemoryType memoryType)
        implements Serializable {
    /**
     * Checks the components.
     *
     * @throws IllegalArgumentException if the vendor or the ordinal is negative
     */
    public MemoryLocation {
        Objects.requireNonNull(deviceType, "deviceType");
        Objects.requireNonNull(memoryType, "memoryType");
        if (vendorId < 0) {
            throw new IllegalArgumentException("vendorId is " + vendorId + ", it must not be negative");
        }
        if (deviceOrdinal < 0) {
            throw new IllegalArgumentException("deviceOrdinal is " + deviceOrdinal + ", it must not be negative");
        }
    }

    /**
     * {@return a short name for messages, such as {@code gpu:0} or {@code gpu:0 host-accessible}: device kind and
     * ordinal, and the memory type if it is not the default}
     */
    @Override
    public String toString() {
        final String device = deviceType.id() + ":" + deviceOrdinal;
        return memoryType == MemoryType.DEFAULT ? device : device + " host-accessible";
    }
}
