package allocator.cli.text;

import allocator.cli.output.Json;
import allocator.trace.TraceSummary;

/** What a trace holds, as JSON: one object. Names of fields are stable. */
public final class TraceJson {
    private TraceJson() {}

    /** {@return the JSON} */
    public static String of(TraceSummary summary) {
        final TraceSummary.Lifetimes lifetimes = summary.lifetimes();
        return Json.text(new Json()
                .put("trace", summary.trace())
                .put("events", summary.events())
                .put("allocations", summary.allocations())
                .put("frees", summary.events() - summary.allocations())
                .put("live_at_end", summary.liveAtEnd())
                .put("allocated_bytes", summary.allocatedBytes())
                .put("peak_live_blocks", summary.peakLiveBlocks())
                .put("peak_live_bytes", summary.peakLiveBytes())
                .put("peak_event", summary.peakEvent())
                .put(
                        "lifetimes",
                        new Json()
                                .put("shortest", lifetimes.shortest())
                                .put("median", lifetimes.median())
                                .put("percentile_90", lifetimes.percentile90())
                                .put("longest", lifetimes.longest()))
                .put(
                        "streams",
                        summary.streams(),
                        stream -> new Json()
                                .put("allocations", stream.allocations())
                                .put("allocated_bytes", stream.bytes())
                                .put("peak_live_bytes", stream.peakLiveBytes()))
                .put(
                        "sizes",
                        summary.sizes(),
                        sizes -> new Json()
                                .put("from", sizes.from())
                                .put("to", sizes.to())
                                .put("blocks", sizes.blocks())
                                .put("bytes", sizes.bytes())));
    }
}
