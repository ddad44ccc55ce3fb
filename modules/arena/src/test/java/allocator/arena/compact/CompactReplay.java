package allocator.arena.compact;

import allocator.arena.BfcArena;
import allocator.arena.CompactConfig;
import allocator.testkit.FakeStream;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.zip.GZIPInputStream;

/**
 * Replays the traces of real models through arenas on pages without a device. All streams are done after each replay,
 * as a run ends. Run {@link #main} for a table, which estimates what the calls would cost on a GPU.
 */
final class CompactReplay {
    static final List<String> TRACES = List.of("bert", "frcnn", "gpt2", "llama_train", "resnet", "two_streams");

    /** Nanoseconds of the calls on an H200: create; map and set access; unmap. */
    private static final long[] COSTS = {14_000, 30_000, 17_000};

    private static final long MEMORY = 128L << 30;

    private final int[] slots;
    private final long[] sizes;
    private final int[] streamOf;
    private final int slotCount;
    private final int streamCount;

    private CompactReplay(int[] slots, long[] sizes, int[] streamOf) {
        this.slots = slots;
        this.sizes = sizes;
        this.streamOf = streamOf;
        slotCount = Arrays.stream(slots).max().orElse(0) + 1;
        streamCount = Arrays.stream(streamOf).max().orElse(0) + 1;
    }

    /** What one replay took. */
    record Pass(long creates, long maps, long unmaps) {}

    /** What several replays on one arena took. */
    record Figures(int events, long peakLive, long peakHeld, long peakMapped, long extents, List<Pass> passes) {
        /** Returns the most that was held, by the most that was requested and alive. */
        double heldByLive() {
            return (double) peakHeld / peakLive;
        }

        private double coldNanosPerEvent() {
            final Pass cold = passes.getFirst();
            return (double) (cold.creates * COSTS[0] + cold.maps * COSTS[1] + cold.unmaps * COSTS[2]) / events;
        }
    }

    /** Reads a trace of the project. */
    static CompactReplay of(String name) {
        final List<int[]> events = new ArrayList<>();
        final List<Long> sizes = new ArrayList<>();
        final Map<String, Integer> slots = new HashMap<>();
        try (BufferedReader lines = new BufferedReader(new InputStreamReader(
                new GZIPInputStream(Files.newInputStream(directory().resolve(name + ".csv.gz"))),
                StandardCharsets.UTF_8))) {
            lines.readLine();
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                final String[] fields = line.split(",", -1);
                final int slot = slots.computeIfAbsent(fields[1], id -> slots.size());
                final boolean isAllocation = fields[0].equals("a");
                events.add(new int[] {slot, isAllocation ? Integer.parseInt(fields[3]) : 0});
                sizes.add(isAllocation ? Long.parseLong(fields[2]) : -1);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return new CompactReplay(
                events.stream().mapToInt(event -> event[0]).toArray(),
                sizes.stream().mapToLong(Long::longValue).toArray(),
                events.stream().mapToInt(event -> event[1]).toArray());
    }

    private static Path directory() {
        Path folder = Path.of("").toAbsolutePath();
        while (!Files.exists(folder.resolve("traces/bert.csv.gz"))) {
            folder = folder.getParent();
        }
        return folder.resolve("traces");
    }

    /** Replays the trace several times on one arena. */
    Figures run(long pageBytes, CompactConfig config, int replays) {
        final FakePages pages = new FakePages(pageBytes, MEMORY / pageBytes);
        final BfcArena arena = PagedArenas.create(pages, 0, config);
        final List<FakeStream> streams = new ArrayList<>();
        for (int i = 0; i < streamCount; i++) {
            streams.add(new FakeStream(pages.info()));
        }
        final List<Pass> passes = new ArrayList<>();
        long peakLive = 0;
        Pass before = sum(arena);
        for (int i = 0; i < replays; i++) {
            peakLive = Math.max(peakLive, replay(arena, streams));
            streams.forEach(arena::endRun);
            final Pass now = sum(arena);
            passes.add(new Pass(
                    now.creates() - before.creates(), now.maps() - before.maps(), now.unmaps() - before.unmaps()));
            before = now;
        }
        arena.checkConsistency();
        final Figures figures = new Figures(
                slots.length,
                peakLive,
                PagedArenas.counter(arena, "PeakPhysicalBytes"),
                PagedArenas.counter(arena, "PeakMappedBytes"),
                arena.stats().numArenaExtensions(),
                passes);
        arena.close();
        return figures;
    }

    private static Pass sum(BfcArena arena) {
        return new Pass(
                PagedArenas.counter(arena, "NumExtents"),
                PagedArenas.counter(arena, "NumPageMaps"),
                PagedArenas.counter(arena, "NumPageUnmaps"));
    }

    /** Replays once, frees what is left, and returns the most bytes that were alive at once. */
    private long replay(BfcArena arena, List<FakeStream> streams) {
        final long[] addresses = new long[slotCount];
        final long[] live = new long[slotCount];
        long sum = 0;
        long peak = 0;
        for (int event = 0; event < slots.length; event++) {
            final int slot = slots[event];
            if (sizes[event] >= 0) {
                addresses[slot] = arena.allocOnStream(sizes[event], streams.get(streamOf[event]));
                live[slot] = sizes[event];
                sum += sizes[event];
                peak = Math.max(peak, sum);
            } else {
                arena.free(addresses[slot]);
                addresses[slot] = 0;
                sum -= live[slot];
                live[slot] = 0;
            }
        }
        for (final long address : addresses) {
            arena.free(address);
        }
        return peak;
    }

    /**
     * Prints a table.
     *
     * @param args page size in KiB, and the numbers of {@link CompactConfig}; or nothing
     */
    public static void main(String[] args) {
        final long pageBytes = args.length > 0 ? Long.parseLong(args[0]) << 10 : 2 << 20;
        final int[] numbers =
                Arrays.stream(args).skip(1).mapToInt(Integer::parseInt).toArray();
        final CompactConfig config = numbers.length == 0
                ? CompactConfig.DEFAULT
                : new CompactConfig(numbers[0], numbers[1], numbers[2], numbers[3], numbers[4]);
        System.out.printf(
                "%-12s %7s %6s %7s %8s %6s %6s %9s  %s%n",
                "trace",
                "held",
                "mapped",
                "extents",
                "creates",
                "maps",
                "unmaps",
                "ns/event",
                "creates/maps/unmaps of replays 2 to 6");
        for (final String name : TRACES) {
            final Figures figures = of(name).run(pageBytes, config, 6);
            final Pass cold = figures.passes.getFirst();
            System.out.printf(
                    "%-12s %7.3f %6.2f %7d %8d %6d %6d %9.0f ",
                    name,
                    figures.heldByLive(),
                    (double) figures.peakMapped / figures.peakHeld,
                    figures.extents,
                    cold.creates,
                    cold.maps,
                    cold.unmaps,
                    figures.coldNanosPerEvent());
            figures.passes
                    .subList(1, figures.passes.size())
                    .forEach(pass -> System.out.printf(" %d/%d/%d", pass.creates, pass.maps, pass.unmaps));
            System.out.println();
        }
    }
}
