package allocator.runtime;

import allocator.runtime.snapshot.Snapshot;
import allocator.spi.DeviceType;
import allocator.spi.EpDevice;
import java.util.Objects;

/**
 * A device as one registered provider serves it. The same hardware appears once for each provider that serves it.
 *
 * @param provider the provider's name
 * @param device the device
 */
public record ProviderDevice(String provider, EpDevice device) {
    /** Checks the components. */
    public ProviderDevice {
        Objects.requireNonNull(provider, "provider");
        Objects.requireNonNull(device, "device");
    }

    /** {@return the kind of the device: the type of its hardware} */
    public DeviceType type() {
        return device.hardware().type();
    }

    /** {@return the ordinal of the device among those of its kind: that of its first memory, {@code 0} if none} */
    public int ordinal() {
        return device.memoryInfos().isEmpty()
                ? 0
                : device.memoryInfos().getFirst().deviceOrdinal();
    }

    /** Returns what names the device among those of its provider, such as {@code gpu:1}. */
    String id() {
        return type().id() + ":" + ordinal();
    }

    Snapshot.Device describe() {
        return new Snapshot.Device(
                provider, type().id(), ordinal(), device.hardware().name());
    }

    @Override
    public String toString() {
        return provider + " on " + device;
    }
}
