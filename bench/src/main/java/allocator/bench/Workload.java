package allocator.bench;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/**
 * A sequence of allocations and frees that can be repeated for ever: first the fill, then the events again and again. Each
 * event names a slot; a size above zero allocates into the slot, zero frees it.
 */
final class Workload {
    private final int slots;
    private final int[] fill;
    private final int[] events;
    private final int[] sizes;

    private Workload(int slots, int[] fill, int[] events, int[] sizes) {
        this.slots = slots;
        this.fill = fill;
        this.events = events;
        this.sizes = sizes;
    }

    /** How many slots there are. */
    int slots() {
        return slots;
    }

    /** The sizes of the blocks that are there before the first event, in slots 0, 1, ...; not to be changed. */
    int[] fill() {
        return fill;
    }

    /** The slot of each event; not to be changed. */
    int[] events() {
        return events;
    }

    /** The size of each event, 0 to free; not to be changed. */
    int[] sizes() {
        return sizes;
    }

    /** The workloads, as they are named on the command line. */
    enum Kind {
        /** 1,000 live blocks of 256 B to 4 MiB, one replaced at a time. */
        LARGE,
        /** The tensors of an inference of 500 operations. */
        REPLAY,
        /** 10,000 live blocks of 16 B to 8 KiB, one replaced at a time. */
        SMALL;

        /** The workload that a command line names, in lower case. */
        static Kind of(String name) {
            return valueOf(name.toUpperCase(Locale.ROOT));
        }
    }

    private static final int STEADY_PAIRS = 1_000_000;
    private static final int REPLAY_OPERATIONS = 500;

    /** The workload of one thread; each thread has its own sequence. */
    static Workload of(Kind kind, int thread) {
        return switch (kind) {
            case LARGE -> steady(1000 + thread, 1000, STEADY_PAIRS, 8, 21);
            case REPLAY -> replay(3000 + thread);
            case SMALL -> steady(2000 + thread, 10_000, STEADY_PAIRS, 4, 12);
        };
    }

    private static Workload steady(long seed, int blocks, int pairs, int low, int high) {
        final SplitMix64 random = new SplitMix64(seed);
        final int[] fill = new int[blocks];
        Arrays.setAll(fill, i -> random.nextSize(low, high));
        final int[] events = new int[2 * pairs];
        final int[] sizes = new int[2 * pairs];
        for (int i = 0; i < events.length; i += 2) {
            final int slot = random.nextInt(blocks);
            events[i] = slot;
            events[i + 1] = slot;
            sizes[i + 1] = random.nextSize(low, high);
        }
        return new Workload(blocks, fill, events, sizes);
    }

    private static Workload replay(long seed) {
        final SplitMix64 random = new SplitMix64(seed);
        final List<List<Integer>> deaths = new ArrayList<>();
        for (int i = 0; i < REPLAY_OPERATIONS; i++) {
            deaths.add(new ArrayList<>());
        }
        final IntList events = new IntList();
        final IntList sizes = new IntList();
        for (int i = 0; i < REPLAY_OPERATIONS; i++) {
            final int out = random.nextSize(12, 22);
            final boolean hasWorkspace = (random.next() & 1) == 0;
            final int workspace = random.nextSize(12, 20);
            final int death = Math.min(i + life(random.next()), REPLAY_OPERATIONS - 1);
            add(events, sizes, 2 * i, out);
            if (hasWorkspace) {
                add(events, sizes, 2 * i + 1, workspace);
                add(events, sizes, 2 * i + 1, 0);
            }
            deaths.get(death).add(2 * i);
            for (final int dead : deaths.get(i).reversed()) {
                add(events, sizes, dead, 0);
            }
        }
        return new Workload(2 * REPLAY_OPERATIONS, new int[0], events.toArray(), sizes.toArray());
    }

    /** How many operations an output lives on: mostly one or two, seldom up to 95. */
    private static int life(long random) {
        final long spread = random >>> 8;
        final int kind = (int) (random & 15);
        if (kind < 8) {
            return 1;
        }
        if (kind < 12) {
            return 2;
        }
        if (kind < 14) {
            return 3 + (int) (spread % 6);
        }
        return kind == 14 ? 8 + (int) (spread % 24) : 32 + (int) (spread % 64);
    }

    private static void add(IntList events, IntList sizes, int slot, int size) {
        events.add(slot);
        sizes.add(size);
    }

    /** The most bytes that live at once when the events run once. */
    long peakLiveBytes() {
        final long[] live = new long[slots];
        long sum = 0;
        for (int i = 0; i < fill.length; i++) {
            live[i] = fill[i];
            sum += fill[i];
        }
        long peak = sum;
        for (int i = 0; i < events.length; i++) {
            sum += sizes[i] - live[events[i]];
            live[events[i]] = sizes[i];
            peak = Math.max(peak, sum);
        }
        return peak;
    }

    /** How many allocations the events hold. */
    int pairs() {
        return (int) Arrays.stream(sizes).filter(size -> size > 0).count();
    }

    private static final class IntList {
        private int[] values = new int[16];
        private int length;

        void add(int value) {
            if (length == values.length) {
                values = Arrays.copyOf(values, 2 * length);
            }
            values[length++] = value;
        }

        int[] toArray() {
            return Arrays.copyOf(values, length);
        }
    }
}
