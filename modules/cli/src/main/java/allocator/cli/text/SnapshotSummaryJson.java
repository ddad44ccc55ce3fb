package allocator.cli.text;

import allocator.cli.output.Json;
import allocator.runtime.snapshot.Snapshot;
import allocator.runtime.snapshot.Snapshot.AllocatorState;
import allocator.runtime.snapshot.Snapshot.LeakSite;
import allocator.runtime.snapshot.Snapshot.Leaks;
import allocator.spi.AllocatorSnapshot.State;
import allocator.view.Breakdown;
import allocator.view.Diagnosis;
import com.fasterxml.jackson.core.JsonGenerator;
import java.io.IOException;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/** What a snapshot shows, as JSON: why a request failed, and who has most. Names of fields are stable. */
public final class SnapshotSummaryJson {
    private SnapshotSummaryJson() {}

    /**
     * Writes it.
     *
     * @param snapshot the snapshot
     * @return the JSON
     */
    public static String of(Snapshot snapshot) {
        return Json.write(json -> {
            json.writeStartObject();
            json.writeStringField("scope", snapshot.scope());
            json.writeStringField("taken_at", snapshot.takenAt().toString());
            final Optional<Diagnosis> diagnosis = Diagnosis.of(snapshot);
            if (diagnosis.isPresent()) {
                write(json, diagnosis.get());
            }
            if (snapshot.leaks() != null) {
                write(json, snapshot.leaks());
            }
            json.writeArrayFieldStart("allocators");
            for (final AllocatorState allocator : snapshot.allocators()) {
                write(json, allocator);
            }
            json.writeEndArray();
            json.writeEndObject();
        });
    }

    private static void write(JsonGenerator json, Diagnosis diagnosis) throws IOException {
        json.writeObjectFieldStart("diagnosis");
        json.writeStringField("cause", diagnosis.cause().name().toLowerCase(Locale.ROOT));
        json.writeStringField("headline", diagnosis.headline());
        json.writeArrayFieldStart("advice");
        for (final String line : diagnosis.advice()) {
            json.writeString(line);
        }
        json.writeEndArray();
        json.writeEndObject();
    }

    private static void write(JsonGenerator json, Leaks leaks) throws IOException {
        json.writeObjectFieldStart("leaks");
        json.writeStringField("closed", leaks.closed());
        json.writeNumberField("blocks", leaks.blocks());
        json.writeNumberField("recorded", leaks.recorded());
        json.writeArrayFieldStart("sites");
        for (final LeakSite site : leaks.sites()) {
            json.writeStartObject();
            json.writeStringField("owner", site.owner());
            json.writeStringField("memory", site.memory());
            json.writeStringField("frame", site.frame());
            json.writeNumberField("blocks", site.blocks());
            json.writeNumberField("bytes", site.bytes());
            json.writeNumberField("oldest_millis", site.oldestMillis());
            json.writeEndObject();
        }
        json.writeEndArray();
        json.writeNumberField("omitted_sites", leaks.omittedSites());
        json.writeEndObject();
    }

    private static void write(JsonGenerator json, AllocatorState allocator) throws IOException {
        json.writeStartObject();
        json.writeStringField("provider", allocator.provider());
        json.writeStringField("memory", allocator.memory().name());
        json.writeStringField("location", allocator.memory().location().toString());
        json.writeStringField("missing", allocator.missing());
        final Breakdown sums = Breakdown.of(allocator.memoryMap());
        json.writeObjectFieldStart("bytes");
        for (final State state : State.values()) {
            json.writeNumberField(state.name().toLowerCase(Locale.ROOT), sums.bytes(state));
        }
        json.writeEndObject();
        write(json, "by_session", Breakdown.bySession(allocator));
        write(json, "by_site", Breakdown.bySite(allocator));
        write(json, "by_stream", Breakdown.byStream(allocator));
        write(json, "by_size", Breakdown.bySize(allocator));
        json.writeEndObject();
    }

    private static void write(JsonGenerator json, String name, List<Breakdown.Group> groups) throws IOException {
        json.writeArrayFieldStart(name);
        for (final Breakdown.Group group : groups) {
            json.writeStartObject();
            json.writeStringField("name", group.name());
            json.writeNumberField("blocks", group.blocks());
            json.writeNumberField("requested", group.requested());
            json.writeNumberField("bytes", group.bytes());
            json.writeEndObject();
        }
        json.writeEndArray();
    }
}
