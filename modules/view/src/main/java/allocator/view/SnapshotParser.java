package allocator.view;

import allocator.runtime.snapshot.Snapshot;
import allocator.runtime.snapshot.Snapshot.AllocatorState;
import allocator.runtime.snapshot.Snapshot.Device;
import allocator.runtime.snapshot.Snapshot.Event;
import allocator.runtime.snapshot.Snapshot.Failure;
import allocator.runtime.snapshot.Snapshot.SessionState;
import allocator.runtime.snapshot.Snapshot.Site;
import allocator.runtime.snapshot.Snapshot.User;
import allocator.runtime.snapshot.SnapshotJson;
import allocator.spi.AllocatorSnapshot;
import allocator.spi.AllocatorSnapshot.Chunk;
import allocator.spi.AllocatorSnapshot.Region;
import allocator.spi.AllocatorSnapshot.State;
import allocator.spi.AllocatorStats;
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
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Parses a snapshot token by token, so that one of a million chunks takes little more than its chunks. */
final class SnapshotParser {
    private final String file;
    private final JsonParser json;

    /** The bytes of all chunks, so that no sum of some of them can overflow. */
    private long totalBytes;

    private long totalRequested;

    /** Reads the value of a field; the parser is at its first token. */
    @FunctionalInterface
    private interface FieldReader {
        void read(String name) throws IOException;
    }

    /** Reads an element of an array; the parser is at its first token. */
    @FunctionalInterface
    private interface ElementReader {
        void read() throws IOException;
    }

    SnapshotParser(String file, JsonParser json) {
        this.file = file;
        this.json = json;
    }

    Snapshot read() throws IOException {
        if (json.nextToken() != JsonToken.START_OBJECT) {
            throw error("is not a snapshot: it does not begin with an object");
        }
        final Parts parts = new Parts();
        fields(name -> {
            switch (name) {
                case "format" -> parts.format = json.getText();
                case "version" -> {
                    requireVersion();
                    parts.hasVersion = true;
                }
                case "taken_at" -> parts.takenAt = instant(json.getText());
                case "scope" -> parts.scope = json.getText();
                case "failure" -> parts.failure = failure();
                case "devices" -> elements(() -> parts.devices.add(device()));
                case "sessions" -> elements(() -> parts.sessions.add(session()));
                case "allocators" -> elements(() -> parts.allocators.add(allocator()));
                case "history" -> elements(() -> event().ifPresent(parts.history::add));
                default -> json.skipChildren();
            }
        });
        if (!SnapshotJson.FORMAT.equals(parts.format)) {
            throw error("is not a snapshot: its field format is not " + SnapshotJson.FORMAT);
        }
        if (!parts.hasVersion) {
            throw error("has no version");
        }
        if (json.nextToken() != null) {
            throw error("is not a snapshot: something follows the object");
        }
        return new Snapshot(
                parts.takenAt,
                parts.scope,
                parts.failure,
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
        private final List<Device> devices = new ArrayList<>();
        private final List<SessionState> sessions = new ArrayList<>();
        private final List<AllocatorState> allocators = new ArrayList<>();
        private final List<Event> history = new ArrayList<>();
    }

    private SnapshotException error(String reason) {
        return new SnapshotException(file, reason, null);
    }

    private void requireVersion() throws IOException {
        if (json.currentToken() != JsonToken.VALUE_NUMBER_INT) {
            throw error("has a version that is no whole number");
        }
        final long version = json.getLongValue();
        if (version > SnapshotJson.VERSION || version < 1) {
            throw error("has version " + version + "; this reader knows versions up to " + SnapshotJson.VERSION
                    + ": use a newer one");
        }
    }

    private Instant instant(String text) throws SnapshotException {
        try {
            return Instant.parse(text);
        } catch (DateTimeException e) {
            throw new SnapshotException(file, "has an impossible time: " + text, e);
        }
    }

    private void fields(FieldReader reader) throws IOException {
        require(JsonToken.START_OBJECT);
        while (json.nextToken() == JsonToken.FIELD_NAME) {
            final String name = json.currentName();
            json.nextToken();
            reader.read(name);
        }
        require(JsonToken.END_OBJECT);
    }

    private void elements(ElementReader reader) throws IOException {
        require(JsonToken.START_ARRAY);
        while (json.nextToken() != JsonToken.END_ARRAY) {
            reader.read();
        }
    }

    private void require(JsonToken token) throws SnapshotException {
        if (json.currentToken() != token) {
            throw error("is not a whole snapshot: " + token + " is missing at line "
                    + json.currentLocation().getLineNr() + ", column "
                    + json.currentLocation().getColumnNr());
        }
    }

    private Failure failure() throws IOException {
        final Scalars values = new Scalars();
        final List<String> stack = new ArrayList<>();
        final MemoryInfo[] memory = new MemoryInfo[1];
        fields(name -> {
            switch (name) {
                case "memory" -> memory[0] = memory();
                case "stack" -> elements(() -> stack.add(json.getText()));
                default -> scalar(name, values);
            }
        });
        if (memory[0] == null) {
            throw error("has a failure without memory");
        }
        return new Failure(
                values.text("reason"),
                values.text("owner"),
                values.text("thread"),
                memory[0],
                values.number("requested", Failure.UNKNOWN),
                values.number("rounded", Failure.UNKNOWN),
                values.number("limit", Failure.UNKNOWN),
                values.number("in_use", Failure.UNKNOWN),
                values.number("held", Failure.UNKNOWN),
                values.number("largest_free", Failure.UNKNOWN),
                values.number("device_free", Failure.UNKNOWN),
                stack);
    }

    /** Reads a number or a text; anything else is skipped. */
    private void scalar(String name, Scalars values) throws IOException {
        switch (json.currentToken()) {
            case VALUE_NUMBER_INT -> values.put(name, json.getLongValue());
            case VALUE_STRING -> values.put(name, json.getText());
            case VALUE_TRUE -> values.put(name, 1L);
            case VALUE_FALSE -> values.put(name, 0L);
            default -> json.skipChildren();
        }
    }

    private Device device() throws IOException {
        final Scalars values = new Scalars();
        fields(name -> scalar(name, values));
        return new Device(
                values.text("provider"),
                values.text("type"),
                Math.toIntExact(values.number("ordinal", 0)),
                values.text("name"));
    }

    private SessionState session() throws IOException {
        final Scalars values = new Scalars();
        fields(name -> scalar(name, values));
        return new SessionState(values.text("name"), values.number("closed", 0) != 0, values.number("live_blocks", 0));
    }

    private MemoryInfo memory() throws IOException {
        final Scalars values = new Scalars();
        fields(name -> scalar(name, values));
        return new MemoryInfo(
                values.text("name"),
                new MemoryLocation(
                        constant(DeviceType.class, values.text("device")),
                        Math.toIntExact(values.number("vendor", 0)),
                        Math.toIntExact(values.number("ordinal", 0)),
                        constant(MemoryType.class, values.text("type"))),
                values.number("alignment", 0),
                constant(AllocatorType.class, values.text("role")));
    }

    private static <E extends Enum<E>> E constant(Class<E> type, String name) {
        return Enum.valueOf(type, name.toUpperCase(Locale.ROOT));
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
        fields(name -> {
            switch (name) {
                case "memory" -> memory[0] = memory();
                case "options" -> fields(key -> options.put(key, json.getText()));
                case "stats" -> stats[0] = stats();
                case "users" -> elements(() -> users.add(user()));
                case "regions" -> elements(() -> regions.add(region()));
                case "blocks" -> elements(() -> blocks.add(block()));
                case "sites" -> elements(() -> site(sites));
                default -> scalar(name, values);
            }
        });
        if (memory[0] == null) {
            throw error("has an allocator without memory");
        }
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
        final Scalars values = new Scalars();
        fields(name -> scalar(name, values));
        final String kind = values.text("kind");
        return Arrays.stream(Event.Kind.values())
                .filter(known -> known.name().toLowerCase(Locale.ROOT).equals(kind))
                .findFirst()
                .map(known -> new Event(
                        known,
                        values.number("micros_ago", 0),
                        values.text("owner"),
                        values.text("memory"),
                        Math.toIntExact(values.number("device", 0)),
                        Long.parseUnsignedLong(values.text("address"), 16),
                        Math.max(0, values.number("bytes", 0)),
                        Math.max(0, values.number("stream", 0))));
    }

    private AllocatorStats stats() throws IOException {
        final Scalars values = new Scalars();
        fields(name -> scalar(name, values));
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
                .build();
    }

    private User user() throws IOException {
        final Scalars values = new Scalars();
        fields(name -> scalar(name, values));
        return new User(values.text("owner"), values.number("live_blocks", 0));
    }

    private Region region() throws IOException {
        final Scalars values = new Scalars();
        final List<Chunk> relative = new ArrayList<>();
        final long[] offset = {0};
        fields(name -> {
            if (name.equals("chunks")) {
                elements(() -> {
                    require(JsonToken.START_ARRAY);
                    final Chunk chunk = chunk(offset[0]);
                    relative.add(chunk);
                    offset[0] = Math.addExact(offset[0], chunk.byteSize());
                });
            } else {
                scalar(name, values);
            }
        });
        final long address = Long.parseUnsignedLong(values.text("address"), 16);
        final long byteSize = values.number("bytes", 0);
        if (offset[0] != byteSize) {
            throw error("has a region of " + byteSize + " bytes whose chunks have " + offset[0]);
        }
        if (Long.compareUnsigned(address + byteSize, address) < 0) {
            throw error("has a region of " + byteSize + " bytes at " + Long.toHexString(address)
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
        require(JsonToken.START_ARRAY);
        json.nextToken();
        return chunk(Long.parseUnsignedLong(json.getText(), 16));
    }

    /** Reads the rest of an array: size, requested size, state and stream. */
    private Chunk chunk(long address) throws IOException {
        final long byteSize = wholeNumber();
        final long requested = wholeNumber();
        json.nextToken();
        final State state = constant(State.class, json.getText());
        final long streamId = wholeNumber();
        if (byteSize <= 0 || requested < 0 || streamId < 0) {
            throw error("has a chunk of " + byteSize + " bytes, " + requested + " requested, on stream " + streamId);
        }
        totalBytes = Math.addExact(totalBytes, byteSize);
        totalRequested = Math.addExact(totalRequested, requested);
        while (json.nextToken() != JsonToken.END_ARRAY) {
            json.skipChildren();
        }
        return new Chunk(address, byteSize, requested, state, streamId);
    }

    private long wholeNumber() throws IOException {
        json.nextToken();
        require(JsonToken.VALUE_NUMBER_INT);
        return json.getLongValue();
    }

    private void site(Map<Long, Site> sites) throws IOException {
        require(JsonToken.START_ARRAY);
        json.nextToken();
        final long address = Long.parseUnsignedLong(json.getText(), 16);
        json.nextToken();
        final String owner = json.getText();
        json.nextToken();
        final String frame = json.getText();
        final long age = wholeNumber();
        while (json.nextToken() != JsonToken.END_ARRAY) {
            json.skipChildren();
        }
        sites.put(address, new Site(owner, frame, age));
    }
}
