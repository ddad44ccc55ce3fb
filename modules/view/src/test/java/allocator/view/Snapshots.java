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
import allocator.spi.AllocatorType;
import allocator.spi.DeviceType;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryLocation;
import allocator.spi.MemoryType;
import java.io.IOException;
import java.io.Writer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.jspecify.annotations.Nullable;

/** Snapshots for tests. */
final class Snapshots {
    /** A name that runs a script if it is shown as anything but text. */
    private static final AllocatorStats STATS = new AllocatorStats.Builder()
            .counter("sharedBytes", 11, AllocatorStats.Unit.BYTES, false)
            .counter("asleepBytes", 12, AllocatorStats.Unit.BYTES, false)
            .build();

    static final String HOSTILE =
            "<img src=x onerror=\"console.error('run')\"></script><script>console.error(1)</script>";

    static final MemoryInfo GPU = new MemoryInfo(
            "Cuda", new MemoryLocation(DeviceType.GPU, 0x10de, 0, MemoryType.DEFAULT), 256, AllocatorType.DEVICE);

    private Snapshots() {}

    /** A region of chunks of the given states and sizes, each of the same stream. */
    static Region region(long address, long streamId, Object... statesAndSizes) {
        final List<Chunk> chunks = new ArrayList<>();
        long next = address;
        for (int i = 0; i < statesAndSizes.length; i += 2) {
            final State state = (State) statesAndSizes[i];
            final long byteSize = ((Number) statesAndSizes[i + 1]).longValue();
            chunks.add(new Chunk(next, byteSize, state == State.LIVE ? byteSize - 1 : 0, state, streamId));
            next += byteSize;
        }
        return new Region(0, address, next - address, chunks);
    }

    static Snapshot of(@Nullable Failure failure, AllocatorSnapshot memory, Map<Long, Site> sites) {
        return new Snapshot(
                Instant.parse("2026-11-25T12:00:00Z"),
                "environment",
                failure,
                failure == null ? leaks() : null,
                List.of(new Device("cuda-arena", "gpu", 0, HOSTILE)),
                List.of(new SessionState(HOSTILE, false, 3)),
                List.of(new AllocatorState(
                        "cuda-arena",
                        GPU,
                        Map.of("arena.max_mem", "1000"),
                        STATS,
                        List.of(new User(HOSTILE, 3)),
                        memory,
                        "",
                        sites)),
                List.of(
                        event(Event.Kind.GROWTH, 9_000_000, "", 4096, 1000),
                        event(Event.Kind.ALLOCATION, 3_000, HOSTILE, 4096, 100),
                        event(Event.Kind.FREE, 2_000, HOSTILE, 4096, 0),
                        event(Event.Kind.FREE, 1_000, HOSTILE, 8192, 0),
                        event(Event.Kind.FAILURE, 0, HOSTILE, 0, 5000)));
    }

    /** A snapshot of one allocator for each memory map; the number of each is behind its owner. */
    static Snapshot ofAllocators(String owner, AllocatorSnapshot... memories) {
        final List<AllocatorState> allocators = new ArrayList<>();
        for (final AllocatorSnapshot memory : memories) {
            allocators.add(new AllocatorState(
                    "cuda-arena",
                    GPU,
                    Map.of(),
                    STATS,
                    List.of(new User(owner + allocators.size(), 3)),
                    memory,
                    "",
                    Map.of()));
        }
        return new Snapshot(
                Instant.parse("2026-11-25T12:00:00Z"),
                owner,
                null,
                null,
                List.of(),
                List.of(new SessionState(owner, false, 3)),
                allocators,
                List.of(event(Event.Kind.ALLOCATION, 3_000, owner, 4096, 100)));
    }

    /** Leaks of more call sites than a page shows at once. */
    private static Leaks leaks() {
        final List<LeakSite> sites = new ArrayList<>();
        for (int i = 1; i <= 30; i++) {
            sites.add(new LeakSite(
                    HOSTILE, GPU.toString(), "com.example.Leak.line(Leak.java:" + i + ")", i, 100_000 / i, 1000L * i));
        }
        return new Leaks("session " + HOSTILE, 1000, 465, sites, 7);
    }

    private static Event event(Event.Kind kind, long microsAgo, String owner, long address, long byteSize) {
        return new Event(kind, microsAgo, owner, GPU.name(), GPU.deviceOrdinal(), address, byteSize, 0);
    }

    static Failure failure(long requested, long limit, long inUse, long held, long largestFree) {
        return failure(requested, limit, inUse, held, largestFree, "");
    }

    static Failure failureOfBudget(long requested, long limit, long charged) {
        return failure(requested, limit, charged, Failure.UNKNOWN, Failure.UNKNOWN, "the budget of two");
    }

    private static Failure failure(
            long requested, long limit, long inUse, long held, long largestFree, String limitedBy) {
        return new Failure(
                "Available memory of 0",
                HOSTILE,
                "main",
                GPU,
                requested,
                requested,
                limit,
                inUse,
                held,
                largestFree,
                Failure.UNKNOWN,
                limitedBy,
                List.of("com.example.Model.load(Model.java:42)"));
    }

    /** A region of very many chunks of random states and sizes. */
    static AllocatorSnapshot large(int count) {
        final Random random = new Random(3);
        final State[] states = {State.LIVE, State.LIVE, State.LIVE, State.FREE, State.WAITING, State.CACHED};
        final Object[] chunks = new Object[2 * count];
        for (int i = 0; i < count; i++) {
            chunks[2 * i] = states[random.nextInt(states.length)];
            chunks[2 * i + 1] = 256L << random.nextInt(8);
        }
        return new AllocatorSnapshot(List.of(region(0x7f00_0000_0000L, 3, chunks)), List.of());
    }

    static Path write(Snapshot snapshot, Path file) throws IOException {
        try (Writer out = Files.newBufferedWriter(file)) {
            SnapshotJson.write(snapshot, out);
        }
        return file;
    }
}
