package allocator.bench.scale;

import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SequencedMap;
import java.util.function.IntConsumer;

/** Measures one crowd while it grows to a hundredth, a tenth and all of its members, and while it ends. */
final class CrowdMeter {
    private static final int SIZES = 3;
    private static final int WINDOWS = 7;
    private static final int LEAST_WARM = 2_000;

    private final CrowdType type;
    private final Duration window;
    private final List<Integer> sizes = new ArrayList<>();
    private final SequencedMap<String, List<Double>> nanos = new LinkedHashMap<>();

    /**
     * What was measured.
     *
     * @param sizes how many members there were
     * @param costs of each operation, per operation or member
     * @param heapAtMost bytes that live on the Java heap more than without a member, at all of them
     * @param heapAtEnd the same after all have ended and a shrink
     */
    record Result(CrowdType type, List<Integer> sizes, List<Costs> costs, long heapAtMost, long heapAtEnd) {}

    private CrowdMeter(CrowdType type, int most, Duration window) {
        this.type = type;
        this.window = window;
        for (int i = SIZES - 1; i >= 0; i--) {
            sizes.add(Math.max(1, most / (int) Math.pow(Costs.STEP, i)));
        }
    }

    /**
     * Measures a crowd.
     *
     * @param most how many members it grows to
     * @param warmUpSeconds how long it is used before, at least
     * @param window how long an operation is repeated for each of the times of which the median counts
     */
    static Result measure(CrowdType type, int most, int warmUpSeconds, Duration window) {
        return new CrowdMeter(type, most, window).measure(warmUpSeconds);
    }

    private Result measure(int warmUpSeconds) {
        warmUp(warmUpSeconds);
        final long heapAtMost;
        final long heapAtEnd;
        try (Crowd crowd = type.open(sizes.getLast())) {
            final SequencedMap<String, IntConsumer> operations = crowd.operations();
            operations.values().forEach(operation -> {
                crowd.add(0);
                operation.accept(1);
                crowd.remove(0);
            });
            final long heapBefore = liveHeap();
            int count = 0;
            for (final int size : sizes) {
                final int from = count;
                final double added = nanos(() -> {
                    for (int i = from; i < size; i++) {
                        crowd.add(i);
                    }
                });
                record("make one", added / (size - from));
                count = size;
                operations.forEach((name, operation) -> record(name, cost(operation, size)));
            }
            heapAtMost = liveHeap() - heapBefore;
            final List<Double> removed = new ArrayList<>();
            for (int i = SIZES - 1; i >= 0; i--) {
                final int from = sizes.get(i);
                final int to = i == 0 ? 0 : sizes.get(i - 1);
                final double time = nanos(() -> {
                    for (int k = from - 1; k >= to; k--) {
                        crowd.remove(k);
                    }
                });
                removed.addFirst(time / (from - to));
            }
            if (!type.isThreaded()) { // threads have ended before
                removed.forEach(cost -> record("end one", cost));
            }
            crowd.shrink();
            heapAtEnd = liveHeap() - heapBefore;
        }
        if (type.closesWithMembers()) {
            sizes.forEach(this::closeWithMembers);
        }
        final List<Costs> costs = new ArrayList<>();
        for (final Map.Entry<String, List<Double>> entry : nanos.entrySet()) {
            costs.add(new Costs(entry.getKey(), entry.getValue()));
        }
        return new Result(type, sizes, costs, heapAtMost, heapAtEnd);
    }

    private void record(String operation, double cost) {
        nanos.computeIfAbsent(operation, key -> new ArrayList<>()).add(cost);
    }

    /** Lets the compiler see every method of the crowd. */
    private void warmUp(int seconds) {
        final int size = Math.min(sizes.getLast(), LEAST_WARM);
        final long begin = System.nanoTime();
        do {
            try (Crowd crowd = type.open(size)) {
                for (int i = 0; i < size; i++) {
                    crowd.add(i);
                    crowd.operations().values().forEach(operation -> operation.accept(1));
                }
                for (int i = size - 1; i >= 0; i--) {
                    crowd.remove(i);
                }
                crowd.shrink();
            }
        } while (System.nanoTime() - begin < seconds * 1_000_000_000L);
    }

    private void closeWithMembers(int size) {
        final Crowd crowd = type.open(size);
        for (int i = 0; i < size; i++) {
            crowd.add(i);
        }
        record("close with all, for each", nanos(crowd::close) / size);
    }

    /** The median over several windows. */
    private double cost(IntConsumer operation, int size) {
        final List<Double> costs = new ArrayList<>();
        for (int i = 0; i < WINDOWS; i++) {
            final long[] done = {0};
            final double time = nanos(() -> {
                final long begin = System.nanoTime();
                do {
                    for (int k = 0; k < 1 + done[0] / 8 && k < 1000; k++) {
                        operation.accept(size);
                    }
                    done[0] += Math.min(1000, 1 + done[0] / 8);
                } while (System.nanoTime() - begin < window.toNanos());
            });
            costs.add(time / done[0]);
        }
        costs.sort(null);
        return costs.get(WINDOWS / 2);
    }

    /** The processor time of this thread; that of the process where others work. */
    private double nanos(Runnable work) {
        final long begin = now();
        work.run();
        return now() - begin;
    }

    private long now() {
        return type.isThreaded()
                ? ((OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean()).getProcessCpuTime()
                : ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
    }

    private static long liveHeap() {
        System.gc();
        System.gc(); // what the first has made unreachable
        return ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
    }
}
