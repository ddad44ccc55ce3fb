package allocator.spark;

import allocator.spi.DeviceDiscovery;
import allocator.spi.DeviceType;
import allocator.spi.EpFactory;
import allocator.spi.MemoryInfo;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import org.apache.spark.resource.ResourceInformation;

/** The GPUs that Spark assigned to an executor or a task: the addresses of the resource {@code gpu}. */
final class Gpus {
    private static final String RESOURCE = "gpu";
    private static final Pattern ORDINAL = Pattern.compile("[0-9]{1,9}");

    private Gpus() {}

    /**
     * Returns the ordinals.
     *
     * @throws IllegalStateException if an address is no ordinal
     */
    static List<Integer> assigned(Map<String, ResourceInformation> resources) {
        final ResourceInformation gpus = resources.get(RESOURCE);
        final List<Integer> ordinals = new ArrayList<>();
        if (gpus != null) {
            for (final String address : gpus.addresses()) {
                if (!ORDINAL.matcher(address).matches()) {
                    throw new IllegalStateException("Spark assigned the gpu '" + address
                            + "'; its discovery script must print ordinals of devices, from 0");
                }
                ordinals.add(Integer.parseInt(address));
            }
        }
        return ordinals;
    }

    /**
     * Returns a provider's memory of a GPU.
     *
     * @throws IllegalArgumentException if it has none
     */
    static MemoryInfo memory(EpFactory provider, int ordinal) {
        final DeviceDiscovery discovery = provider.discoverDevices();
        return discovery.devices().stream()
                .flatMap(device -> device.defaultMemory().stream())
                .filter(memory -> memory.deviceType() == DeviceType.GPU && memory.deviceOrdinal() == ordinal)
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException(
                        "provider " + provider.name() + " has no memory of gpu:" + ordinal + ": " + discovery));
    }
}
