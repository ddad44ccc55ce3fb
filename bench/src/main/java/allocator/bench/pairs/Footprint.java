package allocator.bench.pairs;

import allocator.bench.subject.Subject;
import allocator.bench.subject.SubjectType;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.List;

/**
 * What a JVM of its own measures of memory: how far the process grows when every block is touched, and what each live
 * block takes of the Java heap. Alone from the figures on time, which touch nothing.
 *
 * <p>Arguments: file for the results, subject, workload.
 */
public final class Footprint {
    /** A heap whose memory is there from the beginning, and a collector without memory of its own. */
    static final List<String> JVM_OPTIONS = List.of("-Xms512m", "-Xmx512m", "-XX:+UseSerialGC", "-XX:+AlwaysPreTouch");

    /** So many events that each block has been replaced about ten times. */
    private static final int LARGE_EVENTS = 20_000;

    private static final int OTHER_EVENTS = 200_000;
    private static final int REPLAYS = 20;

    private Footprint() {}

    /**
     * Measures.
     *
     * @param args as above
     * @throws IOException if the system does not tell
     */
    public static void main(String[] args) throws IOException {
        final Output output = Output.to(Path.of(args[0]));
        final SubjectType type = SubjectType.of(args[1]);
        final String name = args[2];
        final Workload workload = Workload.of(name, 0);
        // Once before, so that code and classes do not count.
        try (Subject subject = type.open()) {
            final Player player = new Player(workload, subject.slots(workload.slots()));
            player.fill();
            player.drain();
        }
        final long before =
                type.mapsPagesSeveralTimes() ? Machine.proportionalKibibytes() : Machine.kibibytes("VmRSS:");
        try (Subject subject = type.open()) {
            final Player player = new Player(workload, subject.slots(workload.slots()));
            final long heapBefore = usedHeap();
            player.fill();
            final int live = workload.fill().length;
            if (live > 0) {
                output.add(name, 1, Metric.HEAP_BYTES_PER_BLOCK, (double) (usedHeap() - heapBefore) / live);
                if (subject.bookkeepingBytes().isPresent()) {
                    final double bytes = subject.bookkeepingBytes().getAsLong();
                    output.add(name, 1, Metric.TABLE_BYTES, bytes / live);
                }
            }
            player.touchAll();
            player.playTouching(
                    switch (name) {
                        case Workload.LARGE -> LARGE_EVENTS;
                        case Workload.REPLAY -> REPLAYS * workload.events().length;
                        default -> OTHER_EVENTS;
                    });
            final double growth = 1024.0 * (resident(type) - before);
            player.drain();
            if (before > 0) {
                output.add(name, 1, Metric.RSS_OVER_LIVE, growth / workload.peakLiveBytes());
            }
        }
        System.exit(0);
    }

    /** Returns the most KiB that were resident. Where pages are mapped several times it is what is resident now. */
    private static long resident(SubjectType type) throws IOException {
        return type.mapsPagesSeveralTimes() ? Machine.proportionalKibibytes() : Machine.kibibytes("VmHWM:");
    }

    private static long usedHeap() {
        System.gc();
        return ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
    }
}
