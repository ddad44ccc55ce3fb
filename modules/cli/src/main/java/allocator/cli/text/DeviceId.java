package allocator.cli.text;

import allocator.runtime.ProviderDevice;

/** The name of a device in options and in what is printed. */
public final class DeviceId {
    private DeviceId() {}

    /** {@return a device as it is written in {@code --device}: its type and ordinal, such as {@code gpu:0}} */
    public static String of(ProviderDevice device) {
        return device.type().id() + ":" + device.ordinal();
    }
}
