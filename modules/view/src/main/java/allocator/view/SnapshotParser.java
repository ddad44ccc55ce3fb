package allocator.view;

import allocator.runtime.snapshot.Snapshot;
import allocator.runtime.snapshot.Snapshot.AllocatorState;
import allocator.runtime.snapshot.Snapshot.Device;
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
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Parses a snapshot token by token, so that one of a million chunks takes little more than its chunks. */
final class SnapshotParser {
    private final String file;
    private final JsonParser json;

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
        return new Snapshot(parts.takenAt, parts.scope, parts.failure, parts.devices, parts.sessions, parts.allocators);
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
        final Map<String, Long> numbers = new HashMap<>();
        final Map<String, String> texts = new HashMap<>();
        final List<String> stack = new ArrayList<>();
        final MemoryInfo[] memory = new MemoryInfo[1];
        fields(name -> {
            switch (name) {
                case "memory" -> memory[0] = memory();
                case "stack" -> elements(() -> stack.add(json.getText()));
                default -> scalar(name, numbers, texts);
            }
        });
        if (memory[0] == null) {
            throw error("has a failure without memory");
        }
        return new Failure(
                text(texts, "reason"),
                text(texts, "owner"),
                text(texts, "thread"),
                memory[0],
                known(numbers, "requested"),
                known(numbers, "rounded"),
                known(numbers, "limit"),
                known(numbers, "in_use"),
                known(numbers, "held"),
                known(numbers, "largest_free"),
                known(numbers, "device_free"),
                stack);
    }

    private static long known(Map<String, Long> numbers, String name) {
        return numbers.getOrDefault(name, Failure.UNKNOWN);
    }

    private static String text(Map<String, String> texts, String name) {
        return texts.getOrDefault(name, "");
    }

    private static long number(Map<String, Long> numbers, String name) {
        return numbers.getOrDefault(name, 0L);
    }

    /** Reads a number or a text into one of the maps; anything else is skipped. */
    private void scalar(String name, Map<String, Long> numbers, Map<String, String> texts) throws IOException {
        switch (json.currentToken()) {
            case VALUE_NUMBER_INT -> numbers.put(name, json.getLongValue());
            case VALUE_STRING -> texts.put(name, json.getText());
            case VALUE_TRUE -> numbers.put(name, 1L);
            case VALUE_FALSE -> numbers.put(name, 0L);
            default -> json.skipChildren();
        }
    }

    private Device device() throws IOException {
        final Map<String, Long> numbers = new HashMap<>();
        final Map<String, String> texts = new HashMap<>();
        fields(name -> scalar(name, numbers, texts));
        return new Device(
                text(texts, "provider"),
                text(texts, "type"),
                Math.toIntExact(number(numbers, "ordinal")),
                text(texts, "name"));
    }

    private SessionState session() throws IOException {
        final Map<String, Long> numbers = new HashMap<>();
        final Map<String, String> texts = new HashMap<>();
        fields(name -> scalar(name, numbers, texts));
        return new SessionState(text(texts, "name"), number(numbers, "closed") != 0, number(numbers, "live_blocks"));
    }

    private MemoryInfo memory() throws IOException {
        final Map<String, Long> numbers = new HashMap<>();
        final Map<String, String> texts = new HashMap<>();
        fields(name -> scalar(name, numbers, texts));
        return new MemoryInfo(
                text(texts, "name"),
                new MemoryLocation(
                        constant(DeviceType.class, text(texts, "device")),
                        Math.toIntExact(number(numbers, "vendor")),
                        Math.toIntExact(number(numbers, "ordinal")),
                        constant(MemoryType.class, text(texts, "type"))),
                number(numbers, "alignment"),
                constant(AllocatorType.class, text(texts, "role")));
    }

    private static <E extends Enum<E>> E constant(Class<E> type, String name) {
        return Enum.valueOf(type, name.toUpperCase(Locale.ROOT));
    }

    private AllocatorState allocator() throws IOException {
        final Map<String, Long> numbers = new HashMap<>();
        final Map<String, String> texts = new HashMap<>();
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
                default -> scalar(name, numbers, texts);
            }
        });
        if (memory[0] == null) {
            throw error("has an allocator without memory");
        }
        return new AllocatorState(
                text(texts, "provider"),
                memory[0],
                options,
                stats[0],
                users,
                new AllocatorSnapshot(regions, blocks),
                text(texts, "missing"),
                sites);
    }

    private AllocatorStats stats() throws IOException {
        final Map<String, Long> numbers = new HashMap<>();
        fields(name -> scalar(name, numbers, new HashMap<>()));
        return new AllocatorStats.Builder()
                .limit(numbers.getOrDefault("limit", AllocatorStats.UNLIMITED))
                .inUse(number(numbers, "in_use"), number(numbers, "requested_in_use"), number(numbers, "peak_in_use"))
                .held(number(numbers, "held"), number(numbers, "peak_held"))
                .free(number(numbers, "free"), number(numbers, "largest_free"))
                .calls(
                        number(numbers, "allocations"),
                        number(numbers, "reserves"),
                        number(numbers, "failed_allocations"),
                        number(numbers, "largest_block"))
                .regions(number(numbers, "regions_held"), number(numbers, "regions_returned"))
                .build();
    }

    private User user() throws IOException {
        final Map<String, Long> numbers = new HashMap<>();
        final Map<String, String> texts = new HashMap<>();
        fields(name -> scalar(name, numbers, texts));
        return new User(text(texts, "owner"), number(numbers, "live_blocks"));
    }

    private Region region() throws IOException {
        final Map<String, Long> numbers = new HashMap<>();
        final Map<String, String> texts = new HashMap<>();
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
                scalar(name, numbers, texts);
            }
        });
        final long address = Long.parseUnsignedLong(text(texts, "address"), 16);
        final long byteSize = number(numbers, "bytes");
        if (offset[0] != byteSize) {
            throw error("has a region of " + byteSize + " bytes whose chunks have " + offset[0]);
        }
        final List<Chunk> chunks = relative.stream()
                .map(chunk -> new Chunk(
                        address + chunk.address(),
                        chunk.byteSize(),
                        chunk.requestedBytes(),
                        chunk.state(),
                        chunk.streamId()))
                .toList();
        return new Region(Math.toIntExact(number(numbers, "lane")), address, byteSize, chunks);
    }

    private Chunk block() throws IOException {
        require(JsonToken.START_ARRAY);
        json.nextToken();
        return chunk(Long.parseUnsignedLong(json.getText(), 16));
    }

    /** Reads the rest of an array: size, requested size, state and stream. */
    private Chunk chunk(long address) throws IOException {
        json.nextToken();
        final long byteSize = json.getLongValue();
        json.nextToken();
        final long requested = json.getLongValue();
        json.nextToken();
        final State state = constant(State.class, json.getText());
        json.nextToken();
        final long streamId = json.getLongValue();
        if (byteSize <= 0 || requested < 0 || streamId < 0) {
            throw error("has a chunk of " + byteSize + " bytes, " + requested + " requested, on stream " + streamId);
        }
        while (json.nextToken() != JsonToken.END_ARRAY) {
            json.skipChildren();
        }
        return new Chunk(address, byteSize, requested, state, streamId);
    }

    private void site(Map<Long, Site> sites) throws IOException {
        require(JsonToken.START_ARRAY);
        json.nextToken();
        final long address = Long.parseUnsignedLong(json.getText(), 16);
        json.nextToken();
        final String owner = json.getText();
        json.nextToken();
        final String frame = json.getText();
        json.nextToken();
        final long age = json.getLongValue();
        while (json.nextToken() != JsonToken.END_ARRAY) {
            json.skipChildren();
        }
        sites.put(address, new Site(owner, frame, age));
    }
}
