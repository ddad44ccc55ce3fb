package allocator.cli.text;

import allocator.cli.output.Json;
import allocator.runtime.ProviderDevice;
import allocator.spi.AllocatorOptions;
import allocator.spi.MemoryInfo;
import allocator.spi.OptionKey;
import com.fasterxml.jackson.core.JsonGenerator;
import java.io.IOException;
import java.util.List;
import java.util.Map;

/** The providers as JSON: an array with one object per provider. Names of fields are stable. */
public final class ProvidersJson {
    private ProvidersJson() {}

    /**
     * Returns providers as JSON.
     *
     * @param found the providers
     * @return one array
     */
    public static String of(List<ListedProvider> found) {
        return Json.write(json -> {
            json.writeStartArray();
            for (final ListedProvider provider : found) {
                write(json, provider);
            }
            json.writeEndArray();
        });
    }

    private static void write(JsonGenerator json, ListedProvider provider) throws IOException {
        json.writeStartObject();
        json.writeStringField("provider", provider.report().name());
        json.writeStringField("vendor", provider.report().vendor());
        json.writeStringField("version", provider.report().version());
        json.writeNumberField("priority", provider.report().priority());
        json.writeStringField("module", provider.report().module());
        json.writeStringField("origin", provider.report().origin());
        json.writeStringField("failure", provider.report().failure().orElse(null));
        json.writeArrayFieldStart("notes");
        for (final String note : provider.report().notes()) {
            json.writeString(note);
        }
        json.writeEndArray();
        json.writeArrayFieldStart("devices");
        for (final ProviderDevice device : provider.devices()) {
            write(json, provider, device);
        }
        json.writeEndArray();
        json.writeArrayFieldStart("options");
        final AllocatorOptions effective = provider.effective();
        for (final OptionKey<?> key : provider.keys()) {
            json.writeStartObject();
            json.writeStringField("key", key.name());
            json.writeStringField("value", effective.value(key.name()));
            json.writeStringField("origin", effective.origin(key.name()));
            json.writeStringField("default", defaultOf(key));
            json.writeStringField("accepted", key.accepted());
            json.writeStringField("description", key.description());
            json.writeEndObject();
        }
        json.writeEndArray();
        json.writeEndObject();
    }

    private static void write(JsonGenerator json, ListedProvider provider, ProviderDevice device) throws IOException {
        json.writeStartObject();
        json.writeStringField("device", DeviceId.of(device));
        json.writeStringField("name", device.device().hardware().name());
        json.writeObjectFieldStart("metadata");
        for (final Map.Entry<String, String> fact :
                device.device().hardware().metadata().entrySet()) {
            json.writeStringField(fact.getKey(), fact.getValue());
        }
        json.writeEndObject();
        json.writeArrayFieldStart("memory");
        for (final MemoryInfo memory : device.device().memoryInfos()) {
            json.writeStartObject();
            json.writeStringField("name", memory.name());
            json.writeStringField("location", memory.location().toString());
            json.writeStringField("kind", ProvidersText.kind(memory));
            json.writeNumberField("byte_alignment", memory.byteAlignment());
            json.writeStringField("served_by", provider.servedBy().get(memory));
            json.writeEndObject();
        }
        json.writeEndArray();
        json.writeEndObject();
    }

    private static <T> String defaultOf(OptionKey<T> key) {
        return key.format(key.defaultValue());
    }
}
