package allocator.cli;

import allocator.cli.output.Json;
import allocator.runtime.AllocatorReport.Setting;
import allocator.spi.AllocatorStats;
import allocator.spi.ShrinkReport;
import allocator.trace.ReplayResult;
import com.fasterxml.jackson.core.JsonGenerator;
import java.io.IOException;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.util.List;
import java.util.Locale;
import java.util.OptionalLong;

/** The results of replays as JSON: an array with one object per trace and policy. Names of fields are stable. */
final class ReplayJson {
    private ReplayJson() {}

    static String of(List<ReplayResult> results) {
        return Json.write(json -> {
            json.writeStartArray();
            for (final ReplayResult result : results) {
                write(json, result);
            }
            json.writeEndArray();
        });
    }

    private static void write(JsonGenerator json, ReplayResult result) throws IOException {
        json.writeStartObject();
        json.writeStringField("trace", result.trace());
        json.writeStringField("provider", result.provider());
        json.writeStringField("device", result.device());
        json.writeStringField("memory", result.allocator().memory().name());
        json.writeObjectFieldStart("options");
        for (final Setting setting : result.allocator().settings()) {
            final String inForce = setting.effective();
            if (inForce != null) {
                json.writeStringField(setting.key(), inForce);
            }
        }
        json.writeEndObject();
        json.writeObjectFieldStart("option_origins");
        for (final Setting setting : result.allocator().settings()) {
            if (setting.effective() != null) {
                json.writeStringField(setting.key(), setting.origin());
            }
        }
        json.writeEndObject();
        json.writeNumberField("events", result.events());
        json.writeNumberField("allocations", result.allocations());
        json.writeNumberField("frees", result.frees());
        json.writeNumberField("failed_allocations", result.failedAllocations());
        json.writeNumberField("peak_requested_bytes", result.peakRequestedBytes());
        counted(json, result, "peak_in_use_bytes", result.peakInUseBytes());
        counted(json, result, "peak_held_bytes", result.peakHeldBytes());
        number(json, "held_over_requested", result.heldOverRequested(), 4);
        counted(json, result, "in_use_at_end_bytes", result.inUseAtEndBytes());
        counted(json, result, "held_at_end_bytes", result.heldAtEndBytes());
        json.writeNumberField("live_at_end", result.liveAtEnd());
        counted(json, result, "max_alloc_size", result.maxAllocSize());
        counted(json, result, "extensions", result.extensions());
        counted(json, result, "shrinkages", result.shrinkages());
        counted(json, result, "bytes_held_after_shrink", result.bytesHeldAfterShrink());
        json.writeArrayFieldStart("held_after_shrink");
        for (final ShrinkReport.Held part : result.heldAfterShrink()) {
            json.writeStartObject();
            json.writeNumberField("bytes", part.bytes());
            json.writeNumberField("regions", part.regions());
            json.writeStringField("reason", part.reason());
            json.writeEndObject();
        }
        json.writeEndArray();
        json.writeArrayFieldStart("counters_at_end");
        for (final AllocatorStats.Counter counter : result.countersAtEnd()) {
            json.writeStartObject();
            json.writeStringField("name", counter.name());
            json.writeNumberField("value", counter.value());
            json.writeStringField("unit", counter.unit().name().toLowerCase(Locale.ROOT));
            json.writeBooleanField("monotone", counter.isMonotone());
            json.writeEndObject();
        }
        json.writeEndArray();
        pages(json, "page_maps_warm", result.pageMapsWarm());
        pages(json, "peak_physical_bytes", result.peakPhysicalBytes());
        pages(json, "peak_mapped_bytes", result.peakMappedBytes());
        number(json, "ns_per_event_first", result.nsPerEventFirst(), 1);
        number(json, "ns_per_event_cold", result.nsPerEventCold(), 1);
        number(json, "ns_per_event_warm", result.nsPerEventWarm(), 1);
        json.writeEndObject();
    }

    /** Writes a figure of the allocator's statistics; {@code null} if it keeps none. */
    private static void counted(JsonGenerator json, ReplayResult result, String name, long value) throws IOException {
        if (result.isCounted()) {
            json.writeNumberField(name, value);
        } else {
            json.writeNullField(name);
        }
    }

    /** Writes a figure of pages; {@code null} if the allocator does not count any. */
    private static void pages(JsonGenerator json, String name, OptionalLong value) throws IOException {
        if (value.isPresent()) {
            json.writeNumberField(name, value.getAsLong());
        } else {
            json.writeNullField(name);
        }
    }

    /** Writes a time; {@code null} if it was not measured, since JSON has no NaN. */
    private static void number(JsonGenerator json, String name, double value, int decimals) throws IOException {
        if (Double.isNaN(value)) {
            json.writeNullField(name);
        } else {
            json.writeFieldName(name);
            json.writeNumber(BigDecimal.valueOf(value).setScale(decimals, RoundingMode.HALF_UP));
        }
    }
}
