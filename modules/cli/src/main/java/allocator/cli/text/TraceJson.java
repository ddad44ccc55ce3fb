package allocator.cli.text;

import allocator.cli.output.Json;
import allocator.trace.TraceSummary;

/** What a trace holds, as JSON: one object. Names of fields are stable. */
public final class TraceJson {
    private TraceJson() {}

    /**
     * Writes it.
     *
     * @param summary what the trace holds
     * @return the JSON
     */
    public static String of(TraceSummary summary) {
        return Json.write(json -> {
            json.writeStartObject();
            json.writeStringField("trace", summary.trace());
            json.writeNumberField("events", summary.events());
            json.writeNumberField("allocations", summary.allocations());
            json.writeNumberField("frees", summary.events() - summary.allocations());
            json.writeNumberField("live_at_end", summary.liveAtEnd());
            json.writeNumberField("allocated_bytes", summary.allocatedBytes());
            json.writeNumberField("peak_live_blocks", summary.peakLiveBlocks());
            json.writeNumberField("peak_live_bytes", summary.peakLiveBytes());
            json.writeNumberField("peak_event", summary.peakEvent());
            json.writeObjectFieldStart("lifetimes");
            json.writeNumberField("shortest", summary.lifetimes().shortest());
            json.writeNumberField("median", summary.lifetimes().median());
            json.writeNumberField("percentile_90", summary.lifetimes().percentile90());
            json.writeNumberField("longest", summary.lifetimes().longest());
            json.writeEndObject();
            json.writeArrayFieldStart("streams");
            for (final TraceSummary.Stream stream : summary.streams()) {
                json.writeStartObject();
                json.writeNumberField("allocations", stream.allocations());
                json.writeNumberField("allocated_bytes", stream.bytes());
                json.writeNumberField("peak_live_bytes", stream.peakLiveBytes());
                json.writeEndObject();
            }
            json.writeEndArray();
            json.writeArrayFieldStart("sizes");
            for (final TraceSummary.Sizes sizes : summary.sizes()) {
                json.writeStartObject();
                json.writeNumberField("from", sizes.from());
                json.writeNumberField("to", sizes.to());
                json.writeNumberField("blocks", sizes.blocks());
                json.writeNumberField("bytes", sizes.bytes());
                json.writeEndObject();
            }
            json.writeEndArray();
            json.writeEndObject();
        });
    }
}
