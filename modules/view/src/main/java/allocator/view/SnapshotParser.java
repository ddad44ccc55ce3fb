package allocator.view;

import allocator.runtime.snapshot.Snapshot;
import allocator.runtime.snapshot.Snapshot.AllocatorState;
import allocator.runtime.snapshot.Snapshot.Device;
import allocator.runtime.snapshot.Snapshot.Event;
import allocator.runtime.snapshot.Snapshot.Failure;
import allocator.runtime.snapshot.Snapshot.LeakSite;
import allocator.runtime.snapshot.Snapshot.Leaks;
import allocator.runtime.snapshot.Snapshot.SessionState;
import allocator.runtime.snapshot.Snapshot.Site;
import allocator.runtime.snapshot.Snapshot.User;
import allocator.runtime.snapshot.SnapshotJson;
import allocator.spi.AllocatorSnapshot;
import allocator.spi.AllocatorSnapshot.Chunk;
import allocator.spi.AllocatorSnapshot.Region;
import allocator.spi.AllocatorSnapshot.State;
import allocator.spi.AllocatorStats;
import allocator.spi.AllocatorStats.Unit;
import allocator.spi.AllocatorType;
import allocator.spi.DeviceType;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryLocation;
import allocator.spi.MemoryType;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;
import java.time.DateTimeException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Parses a snapshot token by token, so that one of a million chunks takes little more than its chunks. */
final class SnapshotParser {
    private final JsonParser json;
    private final SnapshotTokens tokens;

    /** The bytes of all chunks, so that no sum of some of them can overflow. */
    private long totalBytes;

    private long totalRequested;

    SnapshotParser(String file, JsonParser json) {
        this.json = json;
        tokens = new SnapshotTokens(file, json);
    }

    Snapshot read() throws IOException {
        final JsonToken first = json.nextToken();
        if (first == null) {
            throw tokens.error("is empty");
        }
        if (first != JsonToken.START_OBJECT) {
            throw tokens.error("is not a snapshot: it does not begin with an object");
        }
        final Parts parts = new Parts();
        tokens.fields(name -> {
            switch (name) {
                case "format" -> parts.format = json.getText();
                case "version" -> {
                    requireVersion();
                    parts.hasVersion = true;
                }
                case "taken_at" -> parts.takenAt = instant(json.getText());
                case "scope" -> parts.scope = json.getText();
                case "failure" -> parts.failure = failure();
                case "leaks" -> parts.leaks = leaks();
                case "devices" -> tokens.elements(() -> parts.devices.add(device()));
                case "sessions" -> tokens.elements(() -> parts.sessions.add(session()));
                case "allocators" -> tokens.elements(() -> parts.allocators.add(allocator()));
                case "history" -> tokens.elements(() -> event().ifPresent(parts.history::add));
                default -> json.skipChildren();
            }
        });
        if (!SnapshotJson.FORMAT.equals(parts.format)) {
            throw tokens.error("is not a snapshot: its field format is not " + SnapshotJson.FORMAT);
        }
        if (!parts.hasVersion) {
            throw tokens.error("has no version");
        }
        if (json.nextToken() != null) {
            throw tokens.error("is not a snapshot: something follows the object");
        }
        return new Snapshot(
                parts.takenAt,
                parts.scope,
                parts.failure,
                parts.leaks,
                parts.devices,
                parts.sessions,
                parts.allocators,
                parts.history);
    }

    private static final class Parts {
        private String format = "";
        private boolean hasVersion;
        private Instant takenAt = Instant.EPOCH;
        private String scope = "";
        private @Nullable Failure failure;
        private @Nullable Leaks leaks;
        private final List<Device> devices = new ArrayList<>();
        private final List<SessionState> sessions = new ArrayList<>();
        private final List<AllocatorState> allocators = new ArrayList<>();
        private final List<Event> history = new ArrayList<>();
    }

    private void requireVersion() throws IOException {
        if (json.currentToken() != JsonToken.VALUE_NUMBER_INT) {
            throw tokens.error("has a version that is no whole number");
        }
        final long version = json.getLongValue();
        if (version > SnapshotJson.VERSION) {
            throw tokens.error("has version " + version + "; this reader knows versions up to " + SnapshotJson.VERSION
                    + ": use a newer one");
        }
        if (version < 1) {
            throw tokens.error("has version " + version + ", and the first is 1: it is damaged, or no snapshot");
        }
    }

    private Instant instant(String text) throws SnapshotException {
        try {
            return Instant.parse(text);
        } catch (DateTimeException e) {
            throw tokens.error("has an impossible time: " + text, e);
        }
    }

    private Failure failure() throws IOException {
        final Scalars values = new Scalars();
        final List<String> stack = new ArrayList<>();
        final MemoryInfo[] memory = new MemoryInfo[1];
        tokens.fields(name -> {
            switch (name) {
                case "memory" -> memory[0] = memory();
                case "stack" -> tokens.elements(() -> stack.add(json.getText()));
                default -> tokens.scalar(name, values);
            }
        });
        if (memory[0] == null) {
            throw tokens.error("has a failure without memory");
        }
        return new Failure(
                values.text("reason"),
                values.text("owner"),
                values.text("thread"),
                memory[0],
                tokens.figure(values, "requested"),
                tokens.figure(values, "rounded"),
                tokens.figure(values, "limit"),
                tokens.figure(values, "in_use"),
                tokens.figure(values, "held"),
                tokens.figure(values, "largest_free"),
                tokens.figure(values, "device_free"),
                values.text("limited_by"),
                stack);
    }

    private Leaks leaks() throws IOException {
        final Scalars values = new Scalars();
        final List<LeakSite> sites = new ArrayList<>();
        tokens.fields(name -> {
            if (name.equals("sites")) {
                tokens.elements(() -> sites.add(leakSite()));
            } else {
                tokens.scalar(name, values);
            }
        });
        return new Leaks(
                values.text("closed"),
                Math.max(0, values.number("blocks", 0)),
                Math.max(0, values.number("recorded", 0)),
                sites,
                Math.max(0, values.number("omitted_sites", 0)));
    }

    private LeakSite leakSite() throws IOException {
        final Scalars values = tokens.scalars();
        return new LeakSite(
                values.text("owner"),
                values.text("memory"),
                values.text("frame"),
                Math.max(0, values.number("blocks", 0)),
                Math.max(0, values.number("bytes", 0)),
                Math.max(0, values.number("oldest_millis", 0)));
    }

    private Device device() throws IOException {
        final Scalars values = tokens.scalars();
        return new Device(
                values.text("provider"),
                values.text("type"),
                Math.toIntExact(values.number("ordinal", 0)),
                values.text("name"));
    }

    private SessionState session() throws IOException {
        final Scalars values = tokens.scalars();
        return new SessionState(values.text("name"), values.number("closed", 0) != 0, values.number("live_blocks", 0));
    }

    private MemoryInfo memory() throws IOException {
        final Scalars values = tokens.scalars();
        return new MemoryInfo(
                values.text("name"),
                new MemoryLocation(
                        tokens.constant(DeviceType.class, "device", values.text("device")),
                        Math.toIntExact(values.number("vendor", 0)),
                        Math.toIntExact(values.number("ordinal", 0)),
                        tokens.constant(MemoryType.class, "type of memory", values.text("type"))),
                values.number("alignment", 0),
                tokens.constant(AllocatorType.class, "role", values.text("role")));
    }

    private AllocatorState allocator() throws IOException {
        final Scalars values = new Scalars();
        final Map<String, String> options = new HashMap<>();
        final MemoryInfo[] memory = new MemoryInfo[1];
        final AllocatorStats[] stats = {AllocatorStats.NONE};
        final List<User> users = new ArrayList<>();
        final List<Region> regions = new ArrayList<>();
        final List<Chunk> blocks = new ArrayList<>();
        final Map<Long, Site> sites = new HashMap<>();
        tokens.fields(name -> {
            switch (name) {
                case "memory" -> memory[0] = memory();
                case "options" -> tokens.fields(key -> options.put(key, json.getText()));
                case "stats" -> stats[0] = stats();
                case "users" -> tokens.elements(() -> users.add(user()));
                case "regions" -> tokens.elements(() -> regions.add(region()));
                case "blocks" -> tokens.elements(() -> blocks.add(block()));
                case "sites" -> tokens.elements(() -> site(sites));
                default -> tokens.scalar(name, values);
            }
        });
        if (memory[0] == null) {
            throw tokens.error("has an allocator without memory");
        }
        requireApart(regions);
        return new AllocatorState(
                values.text("provider"),
                memory[0],
                options,
                stats[0],
                users,
                new AllocatorSnapshot(regions, blocks),
                values.text("missing"),
                sites);
    }

    /** Reads an event; empty if it is of a kind that a later writer may have added. */
    private Optional<Event> event() throws IOException {
        final Scalars values = tokens.scalars();
        final String kind = values.text("kind");
        final Optional<Event.Kind> known = Arrays.stream(Event.Kind.values())
                .filter(each -> each.name().toLowerCase(Locale.ROOT).equals(kind))
                .findFirst();
        return known.isEmpty()
                ? Optional.empty()
                : Optional.of(new Event(
                        known.get(),
                        values.number("micros_ago", 0),
                        values.text("owner"),
                        values.text("memory"),
                        Math.toIntExact(values.number("device", 0)),
                        tokens.address(values.text("address")),
                        Math.max(0, values.number("bytes", 0)),
                        Math.max(0, values.number("stream", 0))));
    }

    /** Lanes are listed at different moments, between which a region may go from one to another. */
    private void requireApart(List<Region> regions) throws SnapshotException {
        final List<Region> sorted = new ArrayList<>(regions);
        sorted.sort(Comparator.comparingInt(Region::lane)
                .thenComparing((a, b) -> Long.compareUnsigned(a.address(), b.address())));
        for (int i = 1; i < sorted.size(); i++) {
            final Region before = sorted.get(i - 1);
            final Region region = sorted.get(i);
            final long distance = region.address() - before.address();
            if (before.lane() == region.lane() && Long.compareUnsigned(distance, before.byteSize()) < 0) {
                throw tokens.error("has two regions of lane " + region.lane() + " at "
                        + Long.toHexString(region.address()) + tokens.place());
            }
        }
    }

    private AllocatorStats stats() throws IOException {
        final Scalars values = tokens.scalars();
        return new AllocatorStats.Builder()
                .limit(values.number("limit", AllocatorStats.UNLIMITED))
                .inUse(
                        values.number("in_use", 0),
                        values.number("requested_in_use", 0),
                        values.number("peak_in_use", 0))
                .held(values.number("held", 0), values.number("peak_held", 0))
                .free(values.number("free", 0), values.number("largest_free", 0))
                .calls(
                        values.number("allocations", 0),
                        values.number("reserves", 0),
                        values.number("failed_allocations", 0),
                        values.number("largest_block", 0))
                .regions(values.number("regions_held", 0), values.number("regions_returned", 0))
                .counter("sharedBytes", values.number("shared", 0), Unit.BYTES, false)
                .counter("asleepBytes", values.number("asleep", 0), Unit.BYTES, false)
                .build();
    }

    private User user() throws IOException {
        final Scalars values = tokens.scalars();
        return new User(values.text("owner"), values.number("live_blocks", 0));
    }

    private Region region() throws IOException {
        final Scalars values = new Scalars();
        final List<Chunk> relative = new ArrayList<>();
        final long[] offset = {0};
        tokens.fields(name -> {
            if (name.equals("chunks")) {
                tokens.elements(() -> {
                    tokens.require(JsonToken.START_ARRAY);
                    final Chunk chunk = chunk(offset[0]);
                    relative.add(chunk);
                    offset[0] = Math.addExact(offset[0], chunk.byteSize());
                });
            } else {
                tokens.scalar(name, values);
            }
        });
        final long address = tokens.address(values.text("address"));
        final long byteSize = values.number("bytes", 0);
        if (offset[0] != byteSize) {
            throw tokens.error("has a region of " + byteSize + " bytes whose chunks have " + offset[0]);
        }
        if (Long.compareUnsigned(address + byteSize, address) < 0) {
            throw tokens.error("has a region of " + byteSize + " bytes at " + Long.toHexString(address)
                    + ", behind the last address");
        }
        final List<Chunk> chunks = relative.stream()
                .map(chunk -> new Chunk(
                        address + chunk.address(),
                        chunk.byteSize(),
                        chunk.requestedBytes(),
                        chunk.state(),
                        chunk.streamId()))
                .toList();
        return new Region(Math.toIntExact(values.number("lane", 0)), address, byteSize, chunks);
    }

    private Chunk block() throws IOException {
        tokens.require(JsonToken.START_ARRAY);
        json.nextToken();
        return chunk(tokens.address(json.getText()));
    }

    /** Reads the rest of an array: size, requested size, state and stream. */
    private Chunk chunk(long address) throws IOException {
        final long byteSize = tokens.wholeNumber();
        final long requested = tokens.wholeNumber();
        json.nextToken();
        final State state = tokens.constant(State.class, "state", json.getText());
        final long streamId = tokens.wholeNumber();
        if (byteSize <= 0 || requested < 0 || streamId < 0) {
            throw tokens.error(
                    "has a chunk of " + byteSize + " bytes, " + requested + " requested, on stream " + streamId);
        }
        totalBytes = Math.addExact(totalBytes, byteSize);
        totalRequested = Math.addExact(totalRequested, requested);
        tokens.skipRest();
        return new Chunk(address, byteSize, requested, state, streamId);
    }

    private void site(Map<Long, Site> sites) throws IOException {
        tokens.require(JsonToken.START_ARRAY);
        json.nextToken();
        final long address = tokens.address(json.getText());
        json.nextToken();
        final String owner = json.getText();
        json.nextToken();
        final String frame = json.getText();
        final long age = tokens.wholeNumber();
        long byteSize = 0;
        if (json.nextToken() == JsonToken.VALUE_NUMBER_INT) {
            byteSize = Math.max(0, json.getLongValue());
        }
        if (json.currentToken() != JsonToken.END_ARRAY) {
            json.skipChildren();
            tokens.skipRest();
        }
        sites.put(address, new Site(owner, frame, age, byteSize));
    }
}
