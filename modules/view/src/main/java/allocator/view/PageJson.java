package allocator.view;

import allocator.runtime.snapshot.Snapshot;
import allocator.runtime.snapshot.Snapshot.AllocatorState;
import allocator.runtime.snapshot.Snapshot.Event;
import allocator.runtime.snapshot.Snapshot.Failure;
import allocator.runtime.snapshot.Snapshot.LeakSite;
import allocator.runtime.snapshot.Snapshot.Leaks;
import allocator.runtime.snapshot.Snapshot.User;
import allocator.spi.AllocatorSnapshot;
import allocator.spi.AllocatorStats;
import allocator.spi.AllocatorType;
import allocator.spi.DeviceType;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryLocation;
import allocator.spi.MemoryType;
import allocator.view.TraceProfile.Moment;
import allocator.view.TraceProfile.Point;
import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.time.temporal.ChronoUnit;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.function.ToLongFunction;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** The data of a page as JSON. */
final class PageJson {
    private static final int MOST_ROWS = 40;
    private static final int MOST_EVENTS = 2_000;

    /** The most chunks that the maps of a snapshot, or the peaks of a trace, show one by one, together. */
    private static final int MOST_CHUNKS = 100_000;

    /** The most call sites that they name, together. */
    private static final int MOST_SITES = 20_000;

    private PageJson() {}

    /** Writes the fields of the page's object. */
    @FunctionalInterface
    interface Content {
        void write(JsonGenerator json) throws IOException;
    }

    /** Returns an object. */
    static String write(Content content) {
        final StringWriter text = new StringWriter();
        try (JsonGenerator json = new ShownJson(new JsonFactory().createGenerator(text))) {
            json.writeStartObject();
            content.write(json);
            json.writeEndObject();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return text.toString();
    }

    static String of(String name, Snapshot snapshot) {
        final List<AllocatorState> shown = ShownFirst.shown(snapshot);
        return write(json -> {
            json.writeStringField("title", name);
            json.writeStringField("kind", "snapshot");
            json.writeStringField(
                    "subtitle",
                    "Snapshot of " + snapshot.scope() + ", taken "
                            + snapshot.takenAt().truncatedTo(ChronoUnit.SECONDS) + ", "
                            + count(snapshot.sessions().size(), "session") + ", "
                            + count(snapshot.allocators().size(), "allocator")
                            + (shown.size() < snapshot.allocators().size()
                                    ? ", of which the " + shown.size() + " with most are shown"
                                    : ""));
            final Optional<Diagnosis> diagnosis = Diagnosis.of(snapshot);
            if (diagnosis.isPresent()) {
                write(json, diagnosis.get(), snapshot.failure());
            }
            if (snapshot.leaks() != null) {
                write(json, snapshot.leaks());
            }
            writeHistory(json, snapshot.history());
            json.writeNumberField("first", ShownFirst.of(snapshot, shown));
            json.writeArrayFieldStart("series");
            json.writeEndArray();
            json.writeArrayFieldStart("maps");
            for (final AllocatorState allocator : shown) {
                writeMap(json, title(allocator), -1, -1, allocator, shown.size());
            }
            json.writeEndArray();
        });
    }

    private static String title(AllocatorState allocator) {
        return allocator.memory().name() + " " + allocator.memory().location() + " of " + allocator.provider() + ", "
                + (allocator.users().isEmpty()
                        ? "no user"
                        : allocator.users().stream().limit(3).map(User::owner).collect(Collectors.joining(", ")))
                + (allocator.users().size() > 3 ? " and " + (allocator.users().size() - 3) + " more" : "");
    }

    private static String count(long count, String what) {
        return count + " " + what + (count == 1 ? "" : "s");
    }

    private static void write(JsonGenerator json, Diagnosis diagnosis, @Nullable Failure failure) throws IOException {
        json.writeObjectFieldStart("why");
        json.writeStringField("headline", diagnosis.headline());
        json.writeArrayFieldStart("facts");
        for (final Diagnosis.Fact fact : diagnosis.facts()) {
            json.writeStartArray();
            json.writeString(fact.name());
            json.writeNumber(fact.bytes());
            json.writeString(fact.note());
            json.writeEndArray();
        }
        json.writeEndArray();
        json.writeArrayFieldStart("advice");
        for (final String line : diagnosis.advice()) {
            json.writeString(line);
        }
        json.writeEndArray();
        json.writeArrayFieldStart("stack");
        if (failure != null) {
            for (final String frame : failure.stack()) {
                json.writeString(frame);
            }
            json.writeEndArray();
            json.writeStringField("thread", failure.thread());
            json.writeArrayFieldStart("reason");
            for (final String line : failure.reason().lines().toList()) {
                json.writeString(line);
            }
            json.writeEndArray();
        } else {
            json.writeEndArray();
        }
        json.writeEndObject();
    }

    private static void write(JsonGenerator json, Leaks leaks) throws IOException {
        json.writeObjectFieldStart("leaks");
        json.writeStringField("closed", leaks.closed());
        json.writeNumberField("blocks", leaks.blocks());
        json.writeNumberField("recorded", leaks.recorded());
        json.writeNumberField("omitted", leaks.omittedSites());
        json.writeArrayFieldStart("sites");
        for (final LeakSite site : leaks.sites()) {
            json.writeStartArray();
            json.writeString(site.frame());
            json.writeString(site.owner());
            json.writeString(site.memory());
            json.writeNumber(site.oldestMillis());
            json.writeNumber(site.blocks());
            json.writeNumber(site.bytes());
            json.writeEndArray();
        }
        json.writeEndArray();
        json.writeEndObject();
    }

    /** Writes the last events, the latest first, and how many there are of each kind. */
    private static void writeHistory(JsonGenerator json, List<Event> history) throws IOException {
        if (history.isEmpty()) {
            return;
        }
        final Map<Event.Kind, Long> counts = new EnumMap<>(Event.Kind.class);
        history.forEach(event -> counts.merge(event.kind(), 1L, Long::sum));
        json.writeObjectFieldStart("history");
        json.writeNumberField("micros", history.getFirst().microsAgo());
        json.writeObjectFieldStart("counts");
        for (final Map.Entry<Event.Kind, Long> count : counts.entrySet()) {
            json.writeNumberField(name(count.getKey()), count.getValue());
        }
        json.writeEndObject();
        json.writeArrayFieldStart("events");
        for (final Event event : history.reversed().subList(0, Math.min(MOST_EVENTS, history.size()))) {
            json.writeStartArray();
            json.writeNumber(event.microsAgo());
            json.writeString(name(event.kind()));
            json.writeNumber(event.byteSize());
            json.writeString(event.address() == 0 ? "" : "0x" + Long.toHexString(event.address()));
            json.writeNumber(event.streamId());
            json.writeString(event.memory() + ", device " + event.device());
            json.writeString(event.owner());
            json.writeEndArray();
        }
        json.writeEndArray();
        json.writeEndObject();
    }

    private static String name(Event.Kind kind) {
        return kind.name().toLowerCase(Locale.ROOT);
    }

    static String of(String name, List<TraceProfile> profiles) {
        final TraceProfile first = profiles.getFirst();
        return write(json -> {
            json.writeStringField("title", name);
            json.writeStringField("kind", "trace");
            json.writeStringField(
                    "subtitle",
                    String.format(
                            Locale.ROOT,
                            "%,d events, %,d of them observed: of each span the one with the most bytes requested",
                            first.events(),
                            first.points().size()));
            json.writeNumberField("events", first.events());
            json.writeNumberField("first", peak(first));
            json.writeArrayFieldStart("series");
            for (final TraceProfile profile : profiles) {
                write(json, profile);
            }
            json.writeEndArray();
            json.writeArrayFieldStart("maps");
            for (int i = 0; i < profiles.size(); i++) {
                for (final Moment moment : profiles.get(i).moments()) {
                    writeMap(
                            json,
                            profiles.get(i).policy(),
                            i,
                            moment.event(),
                            asState(moment.memory()),
                            profiles.size());
                }
            }
            json.writeEndArray();
        });
    }

    static String of(String name, Timeline timeline) {
        final TraceProfile profile = timeline.profile();
        final Snapshot failure = timeline.failure();
        return write(json -> {
            json.writeStringField("title", name);
            json.writeStringField("kind", "recording");
            json.writeStringField("subtitle", timeline.subtitle());
            final Optional<Diagnosis> diagnosis = failure == null ? Optional.empty() : Diagnosis.of(failure);
            if (failure != null && diagnosis.isPresent()) {
                write(json, diagnosis.get(), failure.failure());
            }
            json.writeNumberField("events", profile.events());
            json.writeNumberField("first", ShownFirst.of(timeline));
            json.writeArrayFieldStart("series");
            if (profile.events() > 0) {
                write(json, profile);
            }
            json.writeEndArray();
            json.writeArrayFieldStart("maps");
            final int maps = timeline.moments().size();
            for (final Timeline.Moment moment : timeline.moments()) {
                writeMap(json, moment.name(), 0, moment.event(), moment.state(), maps);
            }
            json.writeEndArray();
        });
    }

    /** Returns the moment with the most bytes held, to be shown first. */
    private static int peak(TraceProfile profile) {
        int peak = 0;
        long most = -1;
        for (int i = 0; i < profile.moments().size(); i++) {
            final long live = Breakdown.of(profile.moments().get(i).memory()).requestedBytes();
            if (live > most) {
                most = live;
                peak = i;
            }
        }
        return peak;
    }

    private static AllocatorState asState(AllocatorSnapshot memory) {
        final MemoryInfo info = new MemoryInfo(
                "trace", new MemoryLocation(DeviceType.CPU, 0, 0, MemoryType.DEFAULT), 1, AllocatorType.DEVICE);
        return new AllocatorState("", info, Map.of(), AllocatorStats.NONE, List.of(), memory, "", Map.of());
    }

    private static void write(JsonGenerator json, TraceProfile profile) throws IOException {
        json.writeStartObject();
        json.writeStringField("name", profile.policy());
        json.writeBooleanField("listed", profile.isListed());
        json.writeNumberField("peakRequested", profile.peakRequested());
        json.writeNumberField("peakInUse", profile.peakInUse());
        json.writeNumberField("peakHeld", profile.peakHeld());
        json.writeNumberField("failures", profile.failures());
        writeColumn(json, "event", profile, Point::event);
        writeColumn(json, "least", profile, Point::leastRequested);
        writeColumn(json, "requested", profile, Point::requested);
        writeColumn(json, "inUse", profile, Point::inUse);
        writeColumn(json, "held", profile, Point::held);
        writeColumn(json, "free", profile, Point::free);
        writeColumn(json, "largest", profile, Point::largestFree);
        json.writeEndObject();
    }

    private static void writeColumn(JsonGenerator json, String name, TraceProfile profile, ToLongFunction<Point> column)
            throws IOException {
        json.writeArrayFieldStart(name);
        for (final Point point : profile.points()) {
            json.writeNumber(column.applyAsLong(point));
        }
        json.writeEndArray();
    }

    private static void writeMap(
            JsonGenerator json, String name, int series, int event, AllocatorState allocator, int maps)
            throws IOException {
        json.writeStartObject();
        json.writeStringField("name", name);
        json.writeNumberField("series", series);
        json.writeNumberField("event", event);
        json.writeStringField("missing", allocator.missing());
        json.writeStringField(
                "owner",
                allocator.users().size() == 1 ? allocator.users().getFirst().owner() : "");
        json.writeNumberField("inUse", allocator.stats().bytesInUse());
        json.writeNumberField("held", allocator.stats().bytesHeld());
        json.writeNumberField("limit", allocator.stats().limit());
        json.writeArrayFieldStart("options");
        for (final Map.Entry<String, String> option : allocator.options().entrySet()) {
            json.writeStartArray();
            json.writeString(option.getKey());
            json.writeString(option.getValue());
            json.writeEndArray();
        }
        json.writeEndArray();
        new MapJson(json, allocator, MOST_CHUNKS / maps, MOST_SITES / maps).write();
        json.writeArrayFieldStart("groups");
        writeGroups(json, "session", Breakdown.bySession(allocator));
        writeGroups(json, "call site", Breakdown.bySite(allocator));
        writeGroups(json, "stream", Breakdown.byStream(allocator));
        writeGroups(json, "size", Breakdown.bySize(allocator));
        json.writeEndArray();
        json.writeEndObject();
    }

    private static void writeGroups(JsonGenerator json, String by, List<Breakdown.Group> groups) throws IOException {
        if (groups.isEmpty()) {
            return;
        }
        json.writeStartObject();
        json.writeStringField("by", by);
        json.writeNumberField("count", groups.size());
        json.writeArrayFieldStart("rows");
        for (final Breakdown.Group group : groups.subList(0, Math.min(MOST_ROWS, groups.size()))) {
            json.writeStartArray();
            json.writeString(group.name());
            json.writeNumber(group.blocks());
            json.writeNumber(group.requested());
            json.writeNumber(group.bytes());
            json.writeEndArray();
        }
        json.writeEndArray();
        json.writeEndObject();
    }
}
