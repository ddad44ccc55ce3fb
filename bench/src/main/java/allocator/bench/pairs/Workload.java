package allocator.bench.pairs;

import allocator.trace.Trace;
import allocator.trace.TraceException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.Stream;

/**
 * A sequence of allocations and frees that can be repeated indefinitely: first the fill, then the events again and
 * again. An event {@code s} allocates into slot {@code s}, an event {@code ~s} frees it. There are as many allocations
 * as frees. The sizes are drawn from a {@link SplittableRandom}, whose numbers are the same in each Java release.
 */
public final class Workload {
    private static final String SCALE = "scale-";
    private static final int STEADY_PAIRS = 1_000_000;
    private static final int REPLAY_OPERATIONS = 500;
    private static final int STEADY_UNIT = 2000;

    /** 1,000 live blocks of 256 B to 4 MiB, one replaced at a time. */
    static final String LARGE = "large";

    /** The tensors of an inference of 500 operations. */
    static final String REPLAY = "replay";

    /** 10,000 live blocks of 16 B to 8 KiB, one replaced at a time. */
    static final String SMALL = "small";

    /** The workloads that numbers of other publications are about. */
    static final List<String> PAIRS = List.of(LARGE, REPLAY, SMALL);

    /** As {@link #SMALL}, from a thousand live blocks to a million. */
    static final List<String> SCALES = Stream.of(1000, 10_000, 100_000, 1_000_000)
            .map(count -> SCALE + count)
            .toList();

    private final int slots;
    private final int[] fill;
    private final int[] events;
    private final int[] sizes;
    private final int unit;

    private Workload(int slots, int[] fill, int[] events, int[] sizes, int unit) {
        this.slots = slots;
        this.fill = fill;
        this.events = events;
        this.sizes = sizes;
        this.unit = unit;
    }

    /** The names of all: pairs, recorded traces, scales. */
    public static List<String> names() {
        return Stream.of(PAIRS, Trace.bundledNames(), SCALES)
                .flatMap(List::stream)
                .toList();
    }

    /**
     * The workload of one thread; each thread has its own sequence, except of a recorded trace.
     *
     * @throws IllegalArgumentException if there is none of that name
     */
    public static Workload of(String name, int thread) {
        return switch (name) {
            case LARGE -> steady(1000 + thread, 1000, 8, 21);
            case REPLAY -> replay(3000 + thread);
            case SMALL -> steady(2000 + thread, 10_000, 4, 12);
            default -> {
                requireKnown(name);
                yield name.startsWith(SCALE) ? steady(4000 + thread, liveBlocks(name), 4, 12) : recorded(name);
            }
        };
    }

    /** @throws IllegalArgumentException if there is no workload of that name */
    static void requireKnown(String name) {
        if (!names().contains(name)) {
            throw new IllegalArgumentException(
                    "no workload is called '" + name + "'; there are " + String.join(", ", names()));
        }
    }

    /** How many blocks live under a workload of {@link #SCALES}. */
    static int liveBlocks(String scale) {
        return Integer.parseInt(scale.substring(SCALE.length()));
    }

    /** How many slots there are. */
    public int slots() {
        return slots;
    }

    /** The sizes of the blocks that are there before the first event, in slots 0, 1, ...; not to be changed. */
    int[] fill() {
        return fill;
    }

    /** The events; not to be changed. */
    public int[] events() {
        return events;
    }

    /** The size of each event that allocates; not to be changed. */
    int[] sizes() {
        return sizes;
    }

    /** How many events are played without a look at the clock: all, where they differ from one another. */
    int unit() {
        return unit;
    }

    private static Workload steady(long seed, int blocks, int low, int high) {
        final SplittableRandom random = new SplittableRandom(seed);
        final int[] fill = new int[blocks];
        Arrays.setAll(fill, i -> nextSize(random, low, high));
        final int[] events = new int[2 * STEADY_PAIRS];
        final int[] sizes = new int[2 * STEADY_PAIRS];
        for (int i = 0; i < events.length; i += 2) {
            final int slot = nextInt(random, blocks);
            events[i] = ~slot;
            events[i + 1] = slot;
            sizes[i + 1] = nextSize(random, low, high);
        }
        return new Workload(blocks, fill, events, sizes, STEADY_UNIT);
    }

    private static Workload replay(long seed) {
        final SplittableRandom random = new SplittableRandom(seed);
        final List<List<Integer>> deaths = new ArrayList<>();
        for (int i = 0; i < REPLAY_OPERATIONS; i++) {
            deaths.add(new ArrayList<>());
        }
        final Events events = new Events();
        for (int i = 0; i < REPLAY_OPERATIONS; i++) {
            final int out = nextSize(random, 12, 22);
            final boolean hasWorkspace = (random.nextLong() & 1) == 0;
            final int workspace = nextSize(random, 12, 20);
            final int death = Math.min(i + life(random.nextLong()), REPLAY_OPERATIONS - 1);
            events.allocation(2 * i, out);
            if (hasWorkspace) {
                events.allocation(2 * i + 1, workspace);
                events.free(2 * i + 1);
            }
            deaths.get(death).add(2 * i);
            deaths.get(i).reversed().forEach(events::free);
        }
        return events.toWorkload(2 * REPLAY_OPERATIONS);
    }

    /** A number below {@code bound}, uniform. */
    private static int nextInt(SplittableRandom random, int bound) {
        return (int) (((random.nextLong() >>> 32) * bound) >>> 32);
    }

    /** A size whose octave is uniform from {@code low} to {@code high}, and which is uniform in its octave. */
    private static int nextSize(SplittableRandom random, int low, int high) {
        final long bits = random.nextLong();
        final int octave = low + (int) (((bits >>> 32) * (high - low + 1)) >>> 32);
        return (1 << octave) | ((int) bits & ((1 << octave) - 1));
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

    /** A recorded trace; what lives at its end is freed then, the last slot first. */
    private static Workload recorded(String name) {
        final Trace trace;
        try {
            trace = Trace.bundled(name);
        } catch (TraceException e) {
            throw new IllegalStateException(e);
        }
        final Events events = new Events();
        final boolean[] isLive = new boolean[trace.slotCount()];
        for (int i = 0; i < trace.eventCount(); i++) {
            final int slot = trace.slot(i);
            isLive[slot] = trace.isAllocation(i);
            if (isLive[slot]) {
                events.allocation(slot, Math.toIntExact(trace.byteSize(i)));
            } else {
                events.free(slot);
            }
        }
        for (int slot = isLive.length - 1; slot >= 0; slot--) {
            if (isLive[slot]) {
                events.free(slot);
            }
        }
        return events.toWorkload(isLive.length);
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
            final int event = events[i];
            if (event >= 0) {
                live[event] = sizes[i];
                sum += sizes[i];
                peak = Math.max(peak, sum);
            } else {
                sum -= live[~event];
            }
        }
        return peak;
    }

    /** How many allocations, each with its free, the events hold. */
    int pairs() {
        return events.length / 2;
    }

    /** Events in the making. */
    private static final class Events {
        private int[] slots = new int[1 << 10];
        private int[] sizes = new int[1 << 10];
        private int length;

        void allocation(int slot, int byteSize) {
            add(slot, byteSize);
        }

        void free(int slot) {
            add(~slot, 0);
        }

        private void add(int event, int byteSize) {
            if (length == slots.length) {
                slots = Arrays.copyOf(slots, 2 * length);
                sizes = Arrays.copyOf(sizes, 2 * length);
            }
            slots[length] = event;
            sizes[length++] = byteSize;
        }

        Workload toWorkload(int slotCount) {
            return new Workload(
                    slotCount, new int[0], Arrays.copyOf(slots, length), Arrays.copyOf(sizes, length), length);
        }
    }
}
