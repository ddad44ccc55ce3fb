package allocator.bench.pairs;

import java.util.Locale;

/** What is measured of a cell, with its name in the CSV. */
enum Metric {
    /** Time that passed in a thread for a pair, the mean of the threads. */
    WALL_NS,
    /** Processor time of the threads for a pair. */
    CPU_NS,
    /** Pairs of all threads together in a microsecond, which are millions in a second. */
    MILLION_PAIRS_PER_S,
    /** What JMH says passed in a thread for a pair, the mean of the threads. */
    JMH_WALL_NS,
    /** Processor time of the threads for a pair, measured by JMH. */
    JMH_CPU_NS,
    /** What the threads allocated on the Java heap for a pair. */
    HEAP_BYTES,
    /** Half of the single operations took at most so many nanoseconds. */
    P50_NS,
    /** Of 100 single operations, 99 took at most so many nanoseconds. */
    P99_NS,
    /** Of 1,000 single operations, 999 took at most so many nanoseconds. */
    P999_NS,
    /** The longest single operation. */
    MAX_NS,
    /** How often memory was taken from the system while single operations were timed. */
    EXTENSIONS,
    /** What the allocator says that it holds, over the most bytes that live at once. */
    HELD_OVER_LIVE,
    /** How far the process grew when every block was touched, over the most bytes that live at once. */
    RSS_OVER_LIVE,
    /** What the allocator says that its tables take of the Java heap, for each live block. */
    TABLE_BYTES,
    /** How far the Java heap grew, for each live block. */
    HEAP_BYTES_PER_BLOCK,
    /** An empty downcall as {@code java.lang.foreign} makes it. */
    DOWNCALL_NS,
    /** An empty downcall of a critical function. */
    CRITICAL_DOWNCALL_NS;

    /** The metric of that name. */
    static Metric of(String name) {
        return valueOf(name.toUpperCase(Locale.ROOT));
    }

    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT);
    }
}
