package allocator.cli.text;

import allocator.cli.output.Json;
import allocator.runtime.snapshot.Snapshot;
import allocator.runtime.snapshot.Snapshot.AllocatorState;
import allocator.runtime.snapshot.Snapshot.Leaks;
import allocator.spi.AllocatorSnapshot.State;
import allocator.view.Breakdown;
import allocator.view.Diagnosis;
import java.util.Locale;

/** What a snapshot shows, as JSON: why a request failed, and who has most. Names of fields are stable. */
public final class SnapshotSummaryJson {
    private SnapshotSummaryJson() {}

    /** {@return the JSON} */
    public static String of(Snapshot snapshot) {
        final Json json = new Json()
                .put("scope", snapshot.scope())
                .put("taken_at", snapshot.takenAt().toString());
        Diagnosis.of(snapshot)
                .ifPresent(diagnosis -> json.put(
                        "diagnosis",
                        new Json()
                                .put("cause", diagnosis.cause().name().toLowerCase(Locale.ROOT))
                                .put("headline", diagnosis.headline())
                                .put("advice", diagnosis.advice())));
        if (snapshot.leaks() != null) {
            json.put("leaks", leaks(snapshot.leaks()));
        }
        return Json.text(json.put("allocators", snapshot.allocators(), SnapshotSummaryJson::allocator));
    }

    private static Json leaks(Leaks leaks) {
        return new Json()
                .put("closed", leaks.closed())
                .put("blocks", leaks.blocks())
                .put("recorded", leaks.recorded())
                .put(
                        "sites",
                        leaks.sites(),
                        site -> new Json()
                                .put("owner", site.owner())
                                .put("memory", site.memory())
                                .put("frame", site.frame())
                                .put("blocks", site.blocks())
                                .put("bytes", site.bytes())
                                .put("oldest_millis", site.oldestMillis()))
                .put("omitted_sites", leaks.omittedSites());
    }

    private static Json allocator(AllocatorState allocator) {
        final Breakdown sums = Breakdown.of(allocator.memoryMap());
        final Json bytes = new Json();
        for (final State state : State.values()) {
            bytes.put(state.name().toLowerCase(Locale.ROOT), sums.bytes(state));
        }
        allocator.stats().counters().forEach(own -> bytes.put(own.name().replace("Bytes", ""), own.value()));
        final Json json = new Json()
                .put("provider", allocator.provider())
                .put("memory", allocator.memory().name())
                .put("location", allocator.memory().location().toString())
                .put("missing", allocator.missing())
                .put("bytes", bytes);
        for (final Breakdown.By by : Breakdown.By.values()) {
            json.put(
                    "by_" + by.name().toLowerCase(Locale.ROOT),
                    Breakdown.by(by, allocator),
                    SnapshotSummaryJson::group);
        }
        return json;
    }

    private static Json group(Breakdown.Group group) {
        return new Json()
                .put("name", group.name())
                .put("blocks", group.blocks())
                .put("requested", group.requested())
                .put("bytes", group.bytes());
    }
}
