package allocator.cli;

import allocator.runtime.ProviderDevice;
import allocator.runtime.ProviderReport;
import allocator.spi.AllocatorOptions;
import allocator.spi.OptionKey;
import java.util.List;

/**
 * A provider as the command lists it.
 *
 * @param report what became of it
 * @param devices its devices, as far as they are wanted
 * @param keys the options it understands
 * @param settings the options that were given
 */
record FoundProvider(
        ProviderReport report, List<ProviderDevice> devices, List<OptionKey<?>> keys, AllocatorOptions settings) {
    static FoundProvider unusable(ProviderReport report) {
        return new FoundProvider(report, List.of(), List.of(), AllocatorOptions.EMPTY);
    }

    /** What applies where it is used: given settings as they are read, and defaults. */
    AllocatorOptions inForce() {
        return settings.resolve(keys);
    }
}
