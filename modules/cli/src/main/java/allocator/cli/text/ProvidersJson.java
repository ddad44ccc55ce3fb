package allocator.cli.text;

import allocator.cli.output.Json;
import allocator.runtime.ProviderDevice;
import allocator.runtime.ProviderReport;
import allocator.spi.AllocatorOptions;
import allocator.spi.OptionKey;
import java.util.List;

/** The providers as JSON: an array with one object per provider. Names of fields are stable. */
public final class ProvidersJson {
    private ProvidersJson() {}

    /** {@return providers as one array of JSON} */
    public static String of(List<ListedProvider> found) {
        return Json.text(found.stream().map(ProvidersJson::provider).toList());
    }

    private static Json provider(ListedProvider provider) {
        final ProviderReport report = provider.report();
        final AllocatorOptions effective = provider.effective();
        return new Json()
                .put("provider", report.name())
                .put("vendor", report.vendor())
                .put("version", report.version())
                .put("priority", report.priority())
                .put("module", report.module())
                .put("origin", report.origin())
                .put("failure", report.failure().orElse(null))
                .put("notes", report.notes())
                .put("devices", provider.devices(), device -> device(provider, device))
                .put(
                        "options",
                        provider.keys(),
                        key -> new Json()
                                .put("key", key.name())
                                .put("value", effective.value(key.name()))
                                .put("origin", effective.origin(key.name()))
                                .put("default", defaultOf(key))
                                .put("accepted", key.accepted())
                                .put("description", key.description()));
    }

    private static Json device(ListedProvider provider, ProviderDevice device) {
        final Json metadata = new Json();
        device.device().hardware().metadata().forEach(metadata::put);
        return new Json()
                .put("device", DeviceId.of(device))
                .put("name", device.device().hardware().name())
                .put("metadata", metadata)
                .put(
                        "memory",
                        device.device().memoryInfos(),
                        memory -> new Json()
                                .put("name", memory.name())
                                .put("location", memory.location().toString())
                                .put("kind", ProvidersText.kind(memory))
                                .put("byte_alignment", memory.byteAlignment())
                                .put("served_by", provider.servedBy().get(memory)));
    }

    private static <T> String defaultOf(OptionKey<T> key) {
        return key.format(key.defaultValue());
    }
}
