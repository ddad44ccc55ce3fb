package allocator.spark;

import allocator.spi.HostAccessibleAllocator;
import allocator.spi.OutOfMemoryException;
import com.codahale.metrics.Gauge;
import java.io.Serializable;
import java.lang.foreign.ValueLayout;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.metrics.source.Source;

/** What the tasks of the tests do, on executors. */
final class Tasks {
    static final long MEBIBYTE = 1 << 20;

    private Tasks() {}

    /** What a task saw. */
    record Seen(long process, Map<String, Long> numbers) implements Serializable {}

    private static Iterator<Seen> seen(Map<String, Long> numbers) {
        return List.of(new Seen(ProcessHandle.current().pid(), numbers)).iterator();
    }

    /** Allocates blocks of a mebibyte until a request is rejected, and leaves them. */
    static Iterator<Seen> fill(Iterator<Integer> rows) {
        final HostAccessibleAllocator memory = TaskMemory.current().allocator();
        long bytes = 0;
        try {
            while (true) {
                final long block = memory.alloc(MEBIBYTE);
                memory.segment(block, MEBIBYTE).fill((byte) 1);
                bytes += MEBIBYTE;
            }
        } catch (OutOfMemoryException e) {
            final Map<String, Long> gauges = gauges();
            gauges.put("filled", bytes);
            gauges.put("heldThen", ExecutorSide.memory().host().held());
            return seen(gauges);
        }
    }

    /** Returns the gauges of this executor, as Spark's metrics system has them. */
    static Iterator<Seen> look(Iterator<Integer> rows) {
        return seen(gauges());
    }

    private static Map<String, Long> gauges() {
        final Map<String, Long> numbers = new TreeMap<>();
        final scala.collection.Iterator<Source> sources = SparkEnv.get()
                .metricsSystem()
                .getSourcesByName("plugin." + AllocatorPlugin.class.getName())
                .iterator();
        while (sources.hasNext()) {
            sources.next().metricRegistry().getGauges().forEach((name, gauge) -> put(numbers, name, gauge));
        }
        return numbers;
    }

    private static void put(Map<String, Long> numbers, String name, Gauge<?> gauge) {
        if (gauge.getValue() instanceof Long number) {
            numbers.put(name, number);
        }
    }

    /** Asks for more than the task may have at its first attempt, and then for little. */
    static Iterator<Integer> overrunOnce(Iterator<Integer> rows) {
        final HostAccessibleAllocator memory = TaskMemory.current().allocator();
        final boolean isFirst = TaskContext.get().attemptNumber() == 0;
        memory.alloc(MEBIBYTE); // freed with the task
        final long block = memory.alloc(isFirst ? 1L << 40 : 8);
        memory.segment(block, 8).set(ValueLayout.JAVA_LONG, 0, 42);
        memory.free(block);
        return rows;
    }

    /** Ends its process at the first attempt of its task. */
    static Iterator<Seen> killExecutorOnce(Iterator<Integer> rows) {
        TaskMemory.current().allocator().alloc(MEBIBYTE);
        if (TaskContext.get().attemptNumber() == 0 && TaskContext.get().partitionId() == 0) {
            Runtime.getRuntime().halt(137); // as the kernel does it to a container
        }
        return fill(rows);
    }

    /** Returns the GPU of the task, and what it may allocate there. */
    static Iterator<Seen> useGpu(Iterator<Integer> rows) {
        final TaskMemory memory = TaskMemory.current();
        final Map<String, Long> numbers = new TreeMap<>();
        numbers.put("ordinal", (long) memory.gpuOrdinal());
        numbers.put("ofMemory", (long) memory.gpuAllocator().info().deviceOrdinal());
        memory.gpuAllocator().alloc(MEBIBYTE);
        numbers.putAll(gauges());
        try {
            memory.gpuAllocator().alloc(1L << 40);
        } catch (OutOfMemoryException e) {
            numbers.put("rejected", 1L);
        }
        return seen(numbers);
    }
}
