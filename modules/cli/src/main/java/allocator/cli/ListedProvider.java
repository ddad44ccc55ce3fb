package allocator.cli;

import allocator.runtime.ProviderDevice;
import allocator.runtime.ProviderReport;
import allocator.spi.AllocatorOptions;
import allocator.spi.OptionKey;
import java.util.List;

/**
 * A provider as the command lists it.
 *
 * @param report its report
 * @param devices its devices, as selected by {@code --device}
 * @param keys the options it understands
 * @param settings the options that were given
 */
record ListedProvider(
        ProviderReport report, List<ProviderDevice> devices, List<OptionKey<?>> keys, AllocatorOptions settings) {
    static ListedProvider unusable(ProviderReport report) {
        return new ListedProvider(report, List.of(), List.of(), AllocatorOptions.EMPTY);
    }

    /** Returns the effective settings: given ones as parsed, and defaults. */
    AllocatorOptions effective() {
        return settings.resolve(keys);
    }
}
