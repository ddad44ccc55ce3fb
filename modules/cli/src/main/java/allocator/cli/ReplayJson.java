package allocator.cli;

import allocator.cli.output.Json;
import allocator.runtime.AllocatorReport.Setting;
import allocator.trace.ReplayResult;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.util.List;
import java.util.Locale;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/** The results of replays as JSON: an array with one object per trace and policy. Names of fields are stable. */
final class ReplayJson {
    private ReplayJson() {}

    static String of(List<ReplayResult> results) {
        return Json.text(results.stream().map(ReplayJson::result).toList());
    }

    private static Json result(ReplayResult result) {
        final Json options = new Json();
        final Json origins = new Json();
        for (final Setting setting : result.allocator().settings()) {
            if (setting.effective() != null) {
                options.put(setting.key(), setting.effective());
                origins.put(setting.key(), setting.origin());
            }
        }
        return new Json()
                .put("trace", result.trace())
                .put("provider", result.provider())
                .put("device", result.device())
                .put("memory", result.allocator().memory().name())
                .put("options", options)
                .put("option_origins", origins)
                .put("events", result.events())
                .put("allocations", result.allocations())
                .put("frees", result.frees())
                .put("failed_allocations", result.failedAllocations())
                .put("peak_requested_bytes", result.peakRequestedBytes())
                .put("peak_in_use_bytes", counted(result, result.peakInUseBytes()))
                .put("peak_held_bytes", counted(result, result.peakHeldBytes()))
                .put("held_over_requested", number(result.heldOverRequested(), 4))
                .put("in_use_at_end_bytes", counted(result, result.inUseAtEndBytes()))
                .put("held_at_end_bytes", counted(result, result.heldAtEndBytes()))
                .put("live_at_end", result.liveAtEnd())
                .put("max_alloc_size", counted(result, result.maxAllocSize()))
                .put("extensions", counted(result, result.extensions()))
                .put("shrinkages", counted(result, result.shrinkages()))
                .put("bytes_held_after_shrink", counted(result, result.bytesHeldAfterShrink()))
                .put(
                        "held_after_shrink",
                        result.heldAfterShrink(),
                        part -> new Json()
                                .put("bytes", part.bytes())
                                .put("regions", part.regions())
                                .put("reason", part.reason()))
                .put(
                        "counters_at_end",
                        result.countersAtEnd(),
                        counter -> new Json()
                                .put("name", counter.name())
                                .put("value", counter.value())
                                .put("unit", counter.unit().name().toLowerCase(Locale.ROOT))
                                .put("monotone", counter.isMonotone()))
                .put("page_maps_warm", pages(result.pageMapsWarm()))
                .put("peak_physical_bytes", pages(result.peakPhysicalBytes()))
                .put("peak_mapped_bytes", pages(result.peakMappedBytes()))
                .put("ns_per_event_first", number(result.nsPerEventFirst(), 1))
                .put("ns_per_event_cold", number(result.nsPerEventCold(), 1))
                .put("ns_per_event_warm", number(result.nsPerEventWarm(), 1));
    }

    /** Returns a figure of the allocator's statistics; {@code null} if it keeps none. */
    private static @Nullable Long counted(ReplayResult result, long value) {
        return result.isCounted() ? value : null;
    }

    /** Returns a figure of pages; {@code null} if the allocator does not count any. */
    private static @Nullable Long pages(OptionalLong value) {
        return value.isPresent() ? value.getAsLong() : null;
    }

    /** Returns a time; {@code null} if it was not measured, since JSON has no NaN. */
    private static @Nullable BigDecimal number(double value, int decimals) {
        return Double.isNaN(value) ? null : BigDecimal.valueOf(value).setScale(decimals, RoundingMode.HALF_UP);
    }
}
