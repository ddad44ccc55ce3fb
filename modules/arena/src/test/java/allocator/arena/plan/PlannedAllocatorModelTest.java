package allocator.arena.plan;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.spi.AllocatorSnapshot;
import allocator.spi.AllocatorSnapshot.Chunk;
import allocator.spi.AllocatorStats;
import allocator.spi.SyncStream;
import allocator.testkit.FakeDevice;
import allocator.testkit.FakeStream;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/**
 * Random programs with random plans and lagging streams: no block overlaps one that is live, or one that was freed on a
 * stream which the requester is not behind; and the statistics are those of a model.
 */
class PlannedAllocatorModelTest {
    private static final int STEPS = 150;
    private static final int GRANULE = 256;

    /** How often something was seen in all programs. */
    private static final class Seen {
        private long plannedAllocs;
        private long mismatches;
        private long busyAllocs;
        private long runs;
    }

    /** Memory that was freed on a stream, which may still use it. */
    private record Freed(long from, long to, FakeStream stream, long stamp) {
        boolean overlaps(long start, long end) {
            return from < end && start < to;
        }
    }

    /** A program, and what it must have. */
    private static final class Program {
        private final Random random;
        private final List<PlannedCalls> plans = new ArrayList<>();
        private final FakeDevice device = new FakeDevice();
        private final PlannedAllocator arena;
        private final List<FakeStream> streams = new ArrayList<>();
        private final Map<Long, Long> live = new LinkedHashMap<>();
        private final Map<Long, Long> allocated = new LinkedHashMap<>();
        private final Map<Long, FakeStream> streamOf = new LinkedHashMap<>();
        private final List<Freed> freed = new ArrayList<>();
        private PlannedCalls script;
        private int position;
        private long allocs;
        private long peakInUse;

        Program(long seed) {
            random = new Random(seed);
            final int count = 1 + random.nextInt(4);
            for (int i = 0; i < count; i++) {
                plans.add(Plans.random("plan " + i, 1 + random.nextInt(12), 8, 8 + random.nextInt(56), random));
            }
            if (random.nextBoolean()) { // begins as another one does
                final PlannedCalls first = plans.getFirst();
                final long[] offsets = first.offsets().clone();
                final long[] byteSizes = first.byteSizes().clone();
                byteSizes[byteSizes.length - 1] += GRANULE;
                plans.add(new PlannedCalls("like plan 0", byteSizes, offsets));
            }
            script = plans.getFirst();
            arena = Plans.over(device, 0, plans.toArray(PlannedCalls[]::new));
            for (int i = 0; i < 3; i++) {
                streams.add(new FakeStream());
            }
        }

        void run(Seen seen) {
            final boolean isWithoutStreams = random.nextInt(4) == 0;
            for (int i = 0; i < STEPS; i++) {
                step(isWithoutStreams);
                verify();
            }
            final AllocatorStats stats = arena.stats();
            seen.plannedAllocs += stats.counter("PlannedAllocs").orElseThrow().value();
            seen.mismatches += stats.counter("PlanMismatches").orElseThrow().value();
            seen.busyAllocs += stats.counter("PlanBusyAllocs").orElseThrow().value();
            seen.runs += stats.counter("PlanRuns").orElseThrow().value();
            Plans.destroy(arena);
            assertThat(device.liveBytes()).isZero();
        }

        private void step(boolean isWithoutStreams) {
            final FakeStream stream = streams.get(random.nextInt(streams.size()));
            switch (random.nextInt(40)) {
                case 0 -> arena.shrink();
                case 1, 2 -> {
                    arena.endRun(stream);
                    settle(stream);
                }
                case 3 -> {
                    arena.releaseStream(stream);
                    settle(stream);
                    streamOf.values().removeIf(owner -> owner.equals(stream));
                }
                case 4, 5, 6 -> stream.notifyAndWait(streams.get(random.nextInt(streams.size())));
                case 7 -> {
                    while (!live.isEmpty()) {
                        freeAny();
                    }
                    restart();
                }
                case 8 -> restart();
                case 9 -> allocate(1 + random.nextInt(8 * GRANULE), isWithoutStreams ? null : stream);
                case 10 -> reserve();
                default -> {
                    if (random.nextInt(5) < 2) {
                        freeAny();
                    } else {
                        next(isWithoutStreams ? null : random.nextInt(3) == 0 ? stream : streams.getFirst());
                    }
                }
            }
        }

        private void restart() {
            script = plans.get(random.nextInt(plans.size()));
            position = 0;
        }

        /** Makes the next call of the script. */
        private void next(@Nullable FakeStream stream) {
            if (position == script.byteSizes().length) {
                restart();
            }
            allocate(script.byteSizes()[position++] - random.nextInt(GRANULE), stream);
        }

        private void allocate(long byteSize, @Nullable FakeStream stream) {
            final long address = stream == null ? arena.alloc(byteSize) : arena.allocOnStream(byteSize, stream);
            final long allocatedBytes = Plans.block(arena, address).byteSize();
            requireFree(address, address + allocatedBytes, stream);
            live.put(address, byteSize);
            allocated.put(address, allocatedBytes);
            if (stream != null) {
                streamOf.put(address, stream);
            }
            allocs++;
        }

        private void requireFree(long start, long end, @Nullable FakeStream stream) {
            live.keySet()
                    .forEach(other -> assertThat(other >= end || other + allocated.get(other) <= start)
                            .as("a block at %d overlaps one at %d", start, other)
                            .isTrue());
            for (final Freed before : List.copyOf(freed)) {
                if (before.overlaps(start, end)) {
                    assertThat(before.stream.equals(stream)
                                    || (stream != null && stream.lastWaitedSyncId(before.stream) > before.stamp))
                            .as("%s uses what %s freed at sync id %d", stream, before.stream, before.stamp)
                            .isTrue();
                    freed.remove(before);
                    addFreed(before.from, start, before.stream, before.stamp);
                    addFreed(end, before.to, before.stream, before.stamp);
                }
            }
        }

        private void addFreed(long from, long to, FakeStream stream, long stamp) {
            if (from < to) {
                freed.add(new Freed(from, to, stream, stamp));
            }
        }

        private void reserve() {
            final long byteSize = 1L + random.nextInt(1000);
            final long address = arena.reserve(byteSize);
            live.put(address, byteSize);
            allocated.put(address, byteSize);
            allocs++;
        }

        private void freeAny() {
            if (live.isEmpty()) {
                return;
            }
            final long address = List.copyOf(live.keySet()).get(random.nextInt(live.size()));
            final long end = address + allocated.remove(address);
            live.remove(address);
            arena.free(address);
            final FakeStream stream = streamOf.remove(address);
            if (stream != null) {
                addFreed(address, end, stream, stream.syncId());
            }
        }

        private void settle(SyncStream stream) {
            freed.removeIf(memory -> memory.stream.equals(stream));
        }

        private void verify() {
            final AllocatorStats stats = arena.stats();
            assertThat(stats.requestedBytesInUse())
                    .isEqualTo(live.values().stream().mapToLong(Long::longValue).sum());
            final long inUse =
                    allocated.values().stream().mapToLong(Long::longValue).sum();
            peakInUse = Math.max(peakInUse, inUse);
            assertThat(stats.bytesInUse()).isEqualTo(inUse);
            assertThat(stats.peakBytesInUse()).isBetween(peakInUse, stats.peakBytesHeld());
            assertThat(stats.numAllocs()).isEqualTo(allocs);
            assertThat(stats.bytesHeld()).isEqualTo(device.liveBytes()).isEqualTo(inUse + stats.freeBytes());
            verifySnapshot(arena.inspect());
        }

        private void verifySnapshot(AllocatorSnapshot snapshot) {
            long liveBytes = 0;
            long held = 0;
            for (final AllocatorSnapshot.Region region : snapshot.regions()) {
                long end = region.address();
                for (final Chunk chunk : region.chunks()) {
                    assertThat(chunk.address()).isEqualTo(end);
                    end += chunk.byteSize();
                    if (chunk.state() == AllocatorSnapshot.State.LIVE) {
                        liveBytes += chunk.requestedBytes();
                        assertThat(live).containsEntry(chunk.address(), chunk.requestedBytes());
                    }
                }
                assertThat(end).isEqualTo(region.address() + region.byteSize());
                held += region.byteSize();
            }
            for (final Chunk block : snapshot.blocks()) {
                liveBytes += block.requestedBytes();
                held += block.byteSize();
            }
            assertThat(liveBytes).isEqualTo(arena.stats().requestedBytesInUse());
            assertThat(held).isEqualTo(device.liveBytes());
        }
    }

    @Property
    void noBlockOverlapsWhatIsInUse(@ForAll @IntRange(min = 0) int seed) {
        new Program(seed).run(new Seen());
    }

    /** The programs come across what they are for. */
    @Test
    void programsFollowPlansAndLeaveThem() {
        final Seen seen = new Seen();
        for (int seed = 0; seed < 200; seed++) {
            new Program(-seed - 1).run(seen);
        }
        assertThat(seen.runs).isGreaterThan(1000);
        assertThat(seen.plannedAllocs).isGreaterThan(3000);
        assertThat(seen.mismatches).isGreaterThan(200);
        assertThat(seen.busyAllocs).isGreaterThan(500);
    }
}
