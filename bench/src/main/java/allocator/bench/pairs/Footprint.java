package allocator.bench.pairs;

import allocator.bench.report.Machine;
import allocator.bench.subject.Subject;
import allocator.bench.subject.SubjectType;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import org.openjdk.jmh.annotations.AuxCounters;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/**
 * The memory of a subject under a workload, every block of which is touched. In JVMs of its own with a heap that is
 * resident from the beginning, and a collector without memory of its own. The time says nothing.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.SingleShotTime)
@Fork(
        value = 1,
        jvmArgsAppend = {
            "-Xms512m",
            "-Xmx512m",
            "-XX:+UseSerialGC",
            "-XX:+AlwaysPreTouch",
            "-XX:MaxDirectMemorySize=16g"
        })
@Warmup(iterations = 0)
@Measurement(iterations = 1)
public class Footprint {
    /** So many events that each block has been replaced about ten times. */
    private static final int LARGE_EVENTS = 20_000;

    private static final int OTHER_EVENTS = 200_000;
    private static final int REPLAYS = 20;

    /** What is measured. */
    @Param({"arena", "ort", "netty-pooled", "malloc"})
    public String subject = "";

    /** What is done. */
    @Param({"large", "replay", "small"})
    public String workload = "";

    private SubjectType type = SubjectType.ARENA;
    private Workload played = Workload.of(Workload.REPLAY, 0);
    private long before;

    /** What is found; 0 where it is not known. */
    @State(Scope.Thread)
    @AuxCounters(AuxCounters.Type.EVENTS)
    public static class Found {
        /** How far the process grew, over the most bytes that live at once. */
        public double residentOverLive;

        /** What the allocator says that it holds, over the same. */
        public double heldOverLive;

        /** How far the Java heap grew with each block of the fill. */
        public double heapBytesPerBlock;
    }

    /** Uses the subject once, so that code and classes do not count. */
    @Setup
    public void warmUp() throws IOException {
        type = SubjectType.of(subject);
        played = Workload.of(workload, 0);
        try (Subject open = type.open()) {
            final Player player = new Player(played, open.slots(played.slots()));
            player.fill();
            player.drain();
        }
        before = type.mapsPagesSeveralTimes() ? Machine.proportionalKibibytes() : Machine.kibibytes("VmRSS:");
    }

    /** Opens the subject, fills it, touches every block, and plays. */
    @Benchmark
    public void touch(Found found) throws IOException {
        try (Subject open = type.open()) {
            final Player player = new Player(played, open.slots(played.slots()));
            final long heapBefore = usedHeap();
            player.fill();
            if (played.fill().length > 0) {
                found.heapBytesPerBlock = (double) (usedHeap() - heapBefore) / played.fill().length;
            }
            player.touchAll();
            player.playTouching(
                    switch (workload) {
                        case Workload.LARGE -> LARGE_EVENTS;
                        case Workload.REPLAY -> REPLAYS * played.events().length;
                        default -> OTHER_EVENTS;
                    });
            found.heldOverLive = (double) open.bytesHeld().orElse(0) / played.peakLiveBytes();
            // Where pages are mapped several times, the most that was resident is not known, only what is now.
            final long after =
                    type.mapsPagesSeveralTimes() ? Machine.proportionalKibibytes() : Machine.kibibytes("VmHWM:");
            found.residentOverLive = 1024.0 * (after - before) / played.peakLiveBytes();
            player.drain();
        }
    }

    private static long usedHeap() {
        System.gc();
        return ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
    }
}
