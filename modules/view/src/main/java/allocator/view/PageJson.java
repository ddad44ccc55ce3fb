package allocator.view;

import allocator.runtime.snapshot.Snapshot;
import allocator.runtime.snapshot.Snapshot.AllocatorState;
import allocator.runtime.snapshot.Snapshot.Event;
import allocator.runtime.snapshot.Snapshot.Failure;
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
import java.io.IOException;
import java.time.temporal.ChronoUnit;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
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

    static String of(String name, Snapshot snapshot) {
        final List<AllocatorState> shown = ShownFirst.shown(snapshot);
        return ShownJson.of(json -> {
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
            json.array("series", List.of(), _ -> {});
            json.array("maps", shown, allocator -> writeMap(json, title(allocator), -1, -1, allocator, shown.size()));
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

    private static void write(ShownJson json, Diagnosis diagnosis, @Nullable Failure failure) throws IOException {
        json.object("why", _ -> {
            json.writeStringField("headline", diagnosis.headline());
            json.array("facts", diagnosis.facts(), fact -> json.row(fact.name(), fact.bytes(), fact.note()));
            json.array("advice", diagnosis.advice(), json::writeString);
            json.array("stack", failure == null ? List.<String>of() : failure.stack(), json::writeString);
            if (failure != null) {
                json.writeStringField("thread", failure.thread());
                json.array("reason", failure.reason().lines().toList(), json::writeString);
            }
        });
    }

    private static void write(ShownJson json, Leaks leaks) throws IOException {
        json.object("leaks", _ -> {
            json.writeStringField("closed", leaks.closed());
            json.writeNumberField("blocks", leaks.blocks());
            json.writeNumberField("recorded", leaks.recorded());
            json.writeNumberField("omitted", leaks.omittedSites());
            json.array(
                    "sites",
                    leaks.sites(),
                    site -> json.row(
                            site.frame(),
                            site.owner(),
                            site.memory(),
                            site.oldestMillis(),
                            site.blocks(),
                            site.bytes()));
        });
    }

    /** Writes the last events, the latest first, and how many there are of each kind. */
    private static void writeHistory(ShownJson json, List<Event> history) throws IOException {
        if (history.isEmpty()) {
            return;
        }
        final Map<Event.Kind, Long> counts = new EnumMap<>(Event.Kind.class);
        history.forEach(event -> counts.merge(event.kind(), 1L, Long::sum));
        json.object("history", _ -> {
            json.writeNumberField("micros", history.getFirst().microsAgo());
            json.object("counts", _ -> {
                for (final Map.Entry<Event.Kind, Long> count : counts.entrySet()) {
                    json.writeNumberField(name(count.getKey()), count.getValue());
                }
            });
            json.array(
                    "events",
                    history.reversed().subList(0, Math.min(MOST_EVENTS, history.size())),
                    event -> json.row(
                            event.microsAgo(),
                            name(event.kind()),
                            event.byteSize(),
                            event.address() == 0 ? "" : "0x" + Long.toHexString(event.address()),
                            event.streamId(),
                            event.memory() + ", device " + event.device(),
                            event.owner()));
        });
    }

    private static String name(Event.Kind kind) {
        return kind.name().toLowerCase(Locale.ROOT);
    }

    static String of(String name, List<TraceProfile> profiles) {
        final TraceProfile first = profiles.getFirst();
        return ShownJson.of(json -> {
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
            json.array("series", profiles, profile -> write(json, profile));
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
        return ShownJson.of(json -> {
            json.writeStringField("title", name);
            json.writeStringField("kind", "recording");
            json.writeStringField("subtitle", timeline.subtitle());
            final Optional<Diagnosis> diagnosis = failure == null ? Optional.empty() : Diagnosis.of(failure);
            if (failure != null && diagnosis.isPresent()) {
                write(json, diagnosis.get(), failure.failure());
            }
            json.writeNumberField("events", profile.events());
            json.writeNumberField("first", ShownFirst.of(timeline));
            json.array(
                    "series",
                    profile.events() > 0 ? List.of(profile) : List.<TraceProfile>of(),
                    one -> write(json, one));
            final int maps = timeline.moments().size();
            json.array(
                    "maps",
                    timeline.moments(),
                    moment -> writeMap(json, moment.name(), 0, moment.event(), moment.state(), maps));
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

    private static void write(ShownJson json, TraceProfile profile) throws IOException {
        json.object(_ -> {
            json.writeStringField("name", profile.policy());
            json.writeBooleanField("listed", profile.isListed());
            json.writeNumberField("peakRequested", profile.peakRequested());
            json.writeNumberField("peakInUse", profile.peakInUse());
            json.writeNumberField("peakHeld", profile.peakHeld());
            json.writeNumberField("failures", profile.failures());
            json.array("event", profile.points(), point -> json.writeNumber(point.event()));
            json.array("least", profile.points(), point -> json.writeNumber(point.leastRequested()));
            json.array("requested", profile.points(), point -> json.writeNumber(point.requested()));
            json.array("inUse", profile.points(), point -> json.writeNumber(point.inUse()));
            json.array("held", profile.points(), point -> json.writeNumber(point.held()));
            json.array("free", profile.points(), point -> json.writeNumber(point.free()));
            json.array("largest", profile.points(), point -> json.writeNumber(point.largestFree()));
        });
    }

    private static void writeMap(ShownJson json, String name, int series, int event, AllocatorState allocator, int maps)
            throws IOException {
        json.object(_ -> {
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
            json.array(
                    "options", allocator.options().entrySet(), option -> json.row(option.getKey(), option.getValue()));
            new MapJson(json, allocator, MOST_CHUNKS / maps, MOST_SITES / maps).write();
            json.writeArrayFieldStart("groups");
            for (final Breakdown.By by : Breakdown.By.values()) {
                writeGroups(json, by, Breakdown.by(by, allocator));
            }
            json.writeEndArray();
        });
    }

    private static void writeGroups(ShownJson json, Breakdown.By by, List<Breakdown.Group> groups) throws IOException {
        if (groups.isEmpty()) {
            return;
        }
        json.object(_ -> {
            json.writeStringField("by", by.toString());
            json.writeNumberField("count", groups.size());
            json.array(
                    "rows",
                    groups.subList(0, Math.min(MOST_ROWS, groups.size())),
                    group -> json.row(group.name(), group.blocks(), group.requested(), group.bytes()));
        });
    }
}
