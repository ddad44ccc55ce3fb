package allocator.cli.text;

import allocator.runtime.ProviderDevice;
import allocator.runtime.ProviderReport;
import allocator.spi.AllocatorOptions;
import allocator.spi.MemoryInfo;
import allocator.spi.OptionKey;
import java.util.List;
import java.util.Map;

/**
 * A provider as the command lists it.
 *
 * @param report its report
 * @param devices its devices, as selected by {@code --device}
 * @param keys the options it understands
 * @param settings the options that were given
 * @param servedBy the provider whose allocator the environment shares, for the memories that have one
 */
public record ListedProvider(
        ProviderReport report,
        List<ProviderDevice> devices,
        List<OptionKey<?>> keys,
        AllocatorOptions settings,
        Map<MemoryInfo, String> servedBy) {
    /** {@return a provider that cannot be used, without devices} */
    public static ListedProvider unusable(ProviderReport report) {
        return new ListedProvider(report, List.of(), List.of(), AllocatorOptions.EMPTY, Map.of());
    }

    /** Returns whether another provider serves a memory of this one to sessions that name none. */
    boolean isServedByOther(MemoryInfo memory) {
        return !servedBy.getOrDefault(memory, report.name()).equals(report.name());
    }

    /** Returns the effective settings: given ones as parsed, and defaults. */
    AllocatorOptions effective() {
        return settings.resolve(keys);
    }
}
