package allocator.bench.arrow;

import allocator.arrow.ArrowMemory;
import allocator.bench.pairs.Machine;
import allocator.bench.pairs.Turns;
import allocator.bench.sampling.Statistics;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;

/**
 * Measures one manager, in a JVM of its own, in turn with those of others, and prints a line for each figure: a key and
 * a number.
 *
 * <p>A pair closes one of several live buffers of a size and allocates another in its place. No byte of it is touched.
 * Figures are processor time of the thread, which includes what the system does in its calls.
 */
final class ArrowMeasurement {
    /** Sizes from 64 B to 64 MiB, each four times the one before. */
    static final List<Long> SIZES = List.of(
            64L, 256L, 1L << 10, 1L << 12, 1L << 14, 1L << 16, 1L << 18, 1L << 20, 1L << 22, 1L << 24, 1L << 26);

    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    private static final long MOST_LIVE_BYTES = 1L << 28;
    private static final int MOST_LIVE = 1024;
    private static final int SAMPLES = 5;

    /** How much is allocated between two looks at the clock. */
    private static final long BATCH_BYTES = 1L << 24;

    private static final int MOST_IN_BATCH = 64;
    private static final int PAGE = 4096;

    /** The burst: as many MiB, in buffers of one. */
    static final int BURST_MIB = 512;

    private final PrintStream out;
    private final Turns turns;
    private final long sampleNanos;

    private ArrowMeasurement(PrintStream out, Turns turns, long sampleNanos) {
        this.out = out;
        this.turns = turns;
        this.sampleNanos = sampleNanos;
    }

    /**
     * Measures.
     *
     * @param args manager, milliseconds for each sample
     */
    public static void main(String[] args) throws IOException {
        final BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        new ArrowMeasurement(System.out, new Turns(System.out, in), Long.parseLong(args[1]) * 1_000_000)
                .measure(Manager.of(args[0]));
    }

    private void measure(Manager manager) throws IOException {
        turns.next();
        final Optional<ArrowMemory> memory = manager.open();
        try (BufferAllocator root = Manager.root(memory)) {
            root.buffer(64).close();
            burst(memory, root);
            // So that no size is measured with code that only one size has warmed up.
            for (final long size : SIZES.subList(0, SIZES.size() / 2)) {
                nanosPerPair(root, size);
            }
            for (final long size : SIZES) {
                line("ns " + size, nanosPerPair(root, size));
            }
        }
        memory.ifPresent(ArrowMemory::close);
    }

    private void burst(Optional<ArrowMemory> memory, BufferAllocator root) throws IOException {
        final long before = residentKibibytes();
        final List<ArrowBuf> buffers = new ArrayList<>();
        for (int i = 0; i < BURST_MIB; i++) {
            final ArrowBuf buffer = root.buffer(1 << 20);
            for (int at = 0; at < 1 << 20; at += PAGE) {
                buffer.setByte(at, 1);
            }
            buffers.add(buffer);
        }
        line("burst", mebibytes(residentKibibytes() - before));
        buffers.forEach(ArrowBuf::close);
        buffers.clear();
        line("after", mebibytes(residentKibibytes() - before));
        memory.ifPresent(ArrowMemory::shrink);
        line("shrunk", mebibytes(residentKibibytes() - before));
    }

    private static double mebibytes(long kibibytes) {
        return kibibytes / 1024.0;
    }

    private static long residentKibibytes() throws IOException {
        return Machine.kibibytes("VmRSS:");
    }

    private double nanosPerPair(BufferAllocator root, long size) throws IOException {
        turns.next();
        final ArrowBuf[] live = new ArrowBuf[Math.clamp(MOST_LIVE_BYTES / size, 4, MOST_LIVE)];
        for (int i = 0; i < live.length; i++) {
            live[i] = root.buffer(size);
        }
        final Pairs pairs = new Pairs(root, size, live);
        final int batch = Math.clamp(BATCH_BYTES / size, 1, MOST_IN_BATCH);
        final long warm = System.nanoTime() + 5 * sampleNanos;
        while (System.nanoTime() < warm) {
            pairs.play(batch);
        }
        final List<Double> samples = new ArrayList<>();
        for (int i = 0; i < SAMPLES; i++) {
            turns.next();
            samples.add(sample(pairs, batch));
        }
        for (final ArrowBuf buffer : live) {
            buffer.close();
        }
        return Statistics.median(samples);
    }

    private double sample(Pairs pairs, int batch) {
        long played = 0;
        final long start = THREADS.getCurrentThreadCpuTime();
        long end = start;
        while (end - start < sampleNanos) {
            pairs.play(batch);
            played += batch;
            end = THREADS.getCurrentThreadCpuTime();
        }
        return (double) (end - start) / played;
    }

    private void line(String key, double value) {
        out.printf(Locale.ROOT, "%s %.3f%n", key, value);
    }

    /** Replaces live buffers, chosen by a generator that is the same for all managers. */
    private static final class Pairs {
        private final BufferAllocator root;
        private final long size;
        private final ArrowBuf[] live;
        private int state = 1;

        Pairs(BufferAllocator root, long size, ArrowBuf[] live) {
            this.root = root;
            this.size = size;
            this.live = live;
        }

        void play(int count) {
            for (int i = 0; i < count; i++) {
                state = state * 1_664_525 + 1_013_904_223;
                final int at = (state >>> 8) % live.length;
                live[at].close();
                live[at] = root.buffer(size);
            }
        }
    }
}
