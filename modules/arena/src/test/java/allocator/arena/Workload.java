package allocator.arena;

import allocator.spi.SyncStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Fixed programs of allocations and frees, for tests and timings. A slot holds one block at a time. */
final class Workload {
    /** How many blocks are live at most. */
    private final int slots;

    /** What is allocated first, one size for each slot from the first on. */
    private final long[] initial;

    /** The slot of each event; its bitwise complement stands for a free. */
    private final int[] events;

    /** The size of each event, 0 for a free. */
    private final long[] sizes;

    /** Over the events, to compare implementations. */
    private final long checksum;

    private Workload(int slots, long[] initial, int[] events, long[] sizes, long checksum) {
        this.slots = slots;
        this.initial = initial;
        this.events = events;
        this.sizes = sizes;
        this.checksum = checksum;
    }

    /** Random numbers that are the same everywhere. */
    private static final class SplitMix64 {
        private long state;

        SplitMix64(long seed) {
            state = seed;
        }

        long next() {
            state += 0x9E3779B97F4A7C15L;
            long z = state;
            z = (z ^ (z >>> 30)) * 0xBF58476D1CE4E5B9L;
            z = (z ^ (z >>> 27)) * 0x94D049BB133111EBL;
            return z ^ (z >>> 31);
        }

        /** A size between {@code 2^low} and {@code 2^(high + 1) - 1}, each octave as likely as the next. */
        long size(int low, int high) {
            return size(next(), low, high);
        }

        static long size(long random, int low, int high) {
            final int octave = low + (int) (((random >>> 32) * (high - low + 1)) >>> 32);
            return (1L << octave) | (random & ((1L << octave) - 1));
        }
    }

    /** The workload "large": 1,000 live blocks of 256 B to 4 MiB. */
    static Workload large(int thread, int pairs) {
        return steady(1000 + thread, 1_000, pairs, 8, 21);
    }

    /** The workload "small": 10,000 live blocks of 16 B to 8 KiB. */
    static Workload small(int thread, int pairs) {
        return steady(2000 + thread, 10_000, pairs, 4, 12);
    }

    /** A set of live blocks of which a random one is freed and replaced in each pair. */
    static Workload steady(long seed, int live, int pairs, int low, int high) {
        final SplitMix64 random = new SplitMix64(seed);
        final long[] initial = new long[live];
        for (int slot = 0; slot < live; slot++) {
            initial[slot] = random.size(low, high);
        }
        final int[] events = new int[2 * pairs];
        final long[] sizes = new long[2 * pairs];
        long checksum = 0;
        for (int pair = 0; pair < pairs; pair++) {
            final int slot = (int) (((random.next() >>> 32) * live) >>> 32);
            final long size = random.size(low, high);
            events[2 * pair] = ~slot;
            events[2 * pair + 1] = slot;
            sizes[2 * pair + 1] = size;
            checksum = checksum * 31 + slot * 7L + size;
        }
        return new Workload(live, initial, events, sizes, checksum);
    }

    /** The workload "replay": the lifetimes of a network's outputs and workspaces, 500 operations. */
    static Workload replay(int thread) {
        final int operations = 500;
        final SplitMix64 random = new SplitMix64(3000 + thread);
        final List<Integer> events = new ArrayList<>();
        final List<Long> sizes = new ArrayList<>();
        final int[] deaths = new int[operations];
        for (int i = 0; i < operations; i++) {
            final long output = random.size(12, 22);
            final boolean hasWorkspace = (random.next() & 1) == 0;
            final long workspace = random.size(12, 20);
            deaths[i] = Math.min(i + lifetime(random.next()), operations - 1);
            add(events, sizes, 2 * i, output);
            if (hasWorkspace) {
                add(events, sizes, 2 * i + 1, workspace);
                add(events, sizes, ~(2 * i + 1), 0);
            }
            for (int j = i; j >= 0; j--) {
                if (deaths[j] == i) {
                    add(events, sizes, ~(2 * j), 0);
                }
            }
        }
        final long[] sizeOf = new long[2 * operations];
        long checksum = 0;
        for (int i = 0; i < events.size(); i++) {
            final int event = events.get(i);
            final int id = event < 0 ? ~event : event;
            sizeOf[id] = event < 0 ? sizeOf[id] : sizes.get(i);
            checksum = checksum * 31 + Integer.toUnsignedLong(event) * 7 + sizeOf[id];
        }
        return new Workload(
                2 * operations,
                new long[0],
                events.stream().mapToInt(Integer::intValue).toArray(),
                sizes.stream().mapToLong(Long::longValue).toArray(),
                checksum);
    }

    private static void add(List<Integer> events, List<Long> sizes, int event, long size) {
        events.add(event);
        sizes.add(size);
    }

    private static int lifetime(long random) {
        final long x = random >>> 8;
        final int kind = (int) (random & 15);
        if (kind < 8) {
            return 1;
        }
        if (kind < 12) {
            return 2;
        }
        if (kind < 14) {
            return 3 + (int) (x % 6);
        }
        return kind == 14 ? 8 + (int) (x % 24) : 32 + (int) (x % 64);
    }

    /** Pairs of an allocation and a free. */
    int pairs() {
        return events.length / 2;
    }

    long checksum() {
        return checksum;
    }

    /** The most bytes that are live at one time. */
    long peakLiveBytes() {
        final long[] bytes = Arrays.copyOf(initial, slots);
        long live = Arrays.stream(initial).sum();
        long peak = live;
        for (int i = 0; i < events.length; i++) {
            if (events[i] < 0) {
                live -= bytes[~events[i]];
            } else {
                bytes[events[i]] = sizes[i];
                live += sizes[i];
                peak = Math.max(peak, live);
            }
        }
        return peak;
    }

    /** Runs all events; {@code addresses} has the block of each slot. */
    void run(BfcArena arena, long[] addresses) {
        run(arena, null, addresses);
    }

    /** Runs all events on a stream, or on none. */
    void run(BfcArena arena, @Nullable SyncStream stream, long[] addresses) {
        for (int i = 0; i < events.length; i++) {
            final int event = events[i];
            if (event < 0) {
                arena.free(addresses[~event]);
            } else {
                addresses[event] = stream == null ? arena.alloc(sizes[i]) : arena.allocOnStream(sizes[i], stream);
            }
        }
    }

    /** Allocates what is live at the start. */
    long[] fill(BfcArena arena) {
        final long[] addresses = new long[slots];
        for (int slot = 0; slot < initial.length; slot++) {
            addresses[slot] = arena.alloc(initial[slot]);
        }
        return addresses;
    }
}
