package allocator.runtime.snapshot;

import allocator.runtime.snapshot.Snapshot.AllocatorState;
import allocator.runtime.snapshot.Snapshot.Failure;
import allocator.runtime.snapshot.Snapshot.Leaks;
import allocator.spi.AllocatorSnapshot.Chunk;
import allocator.spi.AllocatorStats;
import allocator.spi.AllocatorStats.Counter;
import allocator.spi.MemoryInfo;
import java.io.IOException;
import java.io.Writer;
import java.util.Locale;
import java.util.Map;

/**
 * Writes snapshots as JSON of ASCII characters, in the format that {@code docs/snapshot.md} describes. It is written
 * chunk by chunk: at exhaustion there may be little Java heap.
 */
public final class SnapshotJson {
    /** The name of the format, in its field {@code format}. */
    public static final String FORMAT = "java.allocator.snapshot";

    /** The version of the format, in its field {@code version}. A reader rejects a greater one. */
    public static final int VERSION = 1;

    private final JsonWriter json;

    private SnapshotJson(JsonWriter json) {
        this.json = json;
    }

    /**
     * Writes a snapshot.
     *
     * @param snapshot the snapshot
     * @param out receives the text; it is neither flushed nor closed
     * @throws IOException if {@code out} throws it
     */
    public static void write(Snapshot snapshot, Writer out) throws IOException {
        final JsonWriter json = new JsonWriter(out);
        new SnapshotJson(json).write(snapshot);
        json.end();
    }

    private void write(Snapshot snapshot) throws IOException {
        json.startObject();
        json.name("format").value(FORMAT);
        json.name("version").value(VERSION);
        json.name("taken_at").value(snapshot.takenAt().toString());
        json.name("scope").value(snapshot.scope());
        final Failure failure = snapshot.failure();
        if (failure != null) {
            json.name("failure");
            write(failure);
        }
        final Leaks leaks = snapshot.leaks();
        if (leaks != null) {
            json.name("leaks");
            write(leaks);
        }
        objects("devices", snapshot.devices(), device -> {
            json.name("provider").value(device.provider());
            json.name("type").value(device.type());
            json.name("ordinal").value(device.ordinal());
            json.name("name").value(device.name());
        });
        objects("sessions", snapshot.sessions(), session -> {
            json.name("name").value(session.name());
            json.name("closed").value(session.isClosed());
            json.name("live_blocks").value(session.liveBlocks());
        });
        objects("allocators", snapshot.allocators(), this::write);
        if (!snapshot.history().isEmpty()) {
            objects("history", snapshot.history(), this::write);
        }
        json.endObject();
    }

    /** Writes the fields of an object, or the values of an array, between its brackets. */
    private interface Inner<T> {
        void write(T value) throws IOException;
    }

    private <T> void objects(String name, Iterable<T> values, Inner<T> fields) throws IOException {
        json.name(name).startArray();
        for (final T value : values) {
            json.startObject();
            fields.write(value);
            json.endObject();
        }
        json.endArray();
    }

    private <T> void arrays(String name, Iterable<T> values, Inner<T> parts) throws IOException {
        json.name(name).startArray();
        for (final T value : values) {
            json.startArray();
            parts.write(value);
            json.endArray();
        }
        json.endArray();
    }

    private void write(Snapshot.Event event) throws IOException {
        json.name("kind").value(event.kind().name().toLowerCase(Locale.ROOT));
        json.name("micros_ago").value(event.microsAgo());
        json.name("owner").value(event.owner());
        json.name("memory").value(event.memory());
        json.name("device").value(event.device());
        json.name("address").value(Long.toHexString(event.address()));
        json.name("bytes").value(event.byteSize());
        json.name("stream").value(event.streamId());
    }

    private void write(Failure failure) throws IOException {
        json.startObject();
        json.name("reason").value(failure.reason());
        json.name("owner").value(failure.owner());
        json.name("thread").value(failure.thread());
        json.name("memory");
        write(failure.memory());
        json.name("requested").value(failure.requested());
        json.name("rounded").value(failure.rounded());
        json.name("limit").value(failure.limit());
        json.name("in_use").value(failure.inUse());
        json.name("held").value(failure.held());
        json.name("largest_free").value(failure.largestFree());
        json.name("device_free").value(failure.deviceFree());
        json.name("limited_by").value(failure.limitedBy());
        json.name("stack").startArray();
        for (final String frame : failure.stack()) {
            json.value(frame);
        }
        json.endArray();
        json.endObject();
    }

    private void write(Leaks leaks) throws IOException {
        json.startObject();
        json.name("closed").value(leaks.closed());
        json.name("blocks").value(leaks.blocks());
        json.name("recorded").value(leaks.recorded());
        json.name("omitted_sites").value(leaks.omittedSites());
        objects("sites", leaks.sites(), site -> {
            json.name("owner").value(site.owner());
            json.name("memory").value(site.memory());
            json.name("frame").value(site.frame());
            json.name("blocks").value(site.blocks());
            json.name("bytes").value(site.bytes());
            json.name("oldest_millis").value(site.oldestMillis());
        });
        json.endObject();
    }

    private void write(MemoryInfo memory) throws IOException {
        json.startObject();
        json.name("name").value(memory.name());
        json.name("device").value(memory.deviceType().id());
        json.name("vendor").value(memory.location().vendorId());
        json.name("ordinal").value(memory.deviceOrdinal());
        json.name("type").value(memory.memoryType().name().toLowerCase(Locale.ROOT));
        json.name("alignment").value(memory.byteAlignment());
        json.name("role").value(memory.allocatorType().name().toLowerCase(Locale.ROOT));
        json.endObject();
    }

    private void write(AllocatorState allocator) throws IOException {
        json.name("provider").value(allocator.provider());
        json.name("memory");
        write(allocator.memory());
        json.name("options").startObject();
        for (final Map.Entry<String, String> option : allocator.options().entrySet()) {
            json.name(option.getKey()).value(option.getValue());
        }
        json.endObject();
        write(allocator.stats());
        objects("users", allocator.users(), user -> {
            json.name("owner").value(user.owner());
            json.name("live_blocks").value(user.liveBlocks());
        });
        json.name("missing").value(allocator.missing());
        objects("regions", allocator.memoryMap().regions(), region -> {
            json.name("lane").value(region.lane());
            json.name("address").value(Long.toHexString(region.address()));
            json.name("bytes").value(region.byteSize());
            arrays("chunks", region.chunks(), this::write);
        });
        arrays("blocks", allocator.memoryMap().blocks(), block -> {
            json.value(Long.toHexString(block.address()));
            write(block);
        });
        arrays("sites", allocator.sites().entrySet(), site -> {
            json.value(Long.toHexString(site.getKey()));
            json.value(site.getValue().owner());
            json.value(site.getValue().frame());
            json.value(site.getValue().ageMillis());
            json.value(site.getValue().byteSize());
        });
    }

    /** Writes a chunk without its address, which follows from the chunks before it. */
    private void write(Chunk chunk) throws IOException {
        json.value(chunk.byteSize());
        json.value(chunk.requestedBytes());
        json.value(chunk.state().name().toLowerCase(Locale.ROOT));
        json.value(chunk.streamId());
    }

    private void write(AllocatorStats stats) throws IOException {
        json.name("stats").startObject();
        json.name("limit").value(stats.limit());
        json.name("in_use").value(stats.bytesInUse());
        json.name("requested_in_use").value(stats.requestedBytesInUse());
        json.name("held").value(stats.bytesHeld());
        json.name("free").value(stats.freeBytes());
        json.name("largest_free").value(stats.largestFreeChunk());
        json.name("peak_in_use").value(stats.peakBytesInUse());
        json.name("peak_held").value(stats.peakBytesHeld());
        json.name("largest_block").value(stats.maxAllocSize());
        json.name("allocations").value(stats.numAllocs());
        json.name("reserves").value(stats.numReserves());
        json.name("failed_allocations").value(stats.numFailedAllocs());
        json.name("regions_held").value(stats.numArenaExtensions());
        json.name("regions_returned").value(stats.numArenaShrinkages());
        json.name("shared")
                .value(stats.counter("sharedBytes").map(Counter::value).orElse(0L));
        json.name("asleep")
                .value(stats.counter("asleepBytes").map(Counter::value).orElse(0L));
        json.endObject();
    }
}
