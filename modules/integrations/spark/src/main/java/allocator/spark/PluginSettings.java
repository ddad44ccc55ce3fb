package allocator.spark;

import allocator.provider.support.Limit;
import allocator.spi.AllocatorOptions;
import allocator.spi.InvalidOptionException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.spark.SparkConf;

/**
 * The settings {@code spark.allocator.*}, as the driver reads them from Spark's configuration and hands them to the
 * executors. Sizes are bytes.
 *
 * @param nativeMemory the most that an executor may hold of host memory
 * @param taskMemory the most that one task may have in use of host memory
 * @param provider the provider of host memory
 * @param options its options
 * @param gpuMemory the most that an executor may hold of each of its GPUs, 0 for no memory of GPUs
 * @param gpuProvider the provider of that memory
 * @param gpuOptions its options
 * @param reportSeconds the interval of reports to the driver, 0 for those of start and end only
 */
record PluginSettings(
        long nativeMemory,
        long taskMemory,
        String provider,
        AllocatorOptions options,
        long gpuMemory,
        String gpuProvider,
        AllocatorOptions gpuOptions,
        int reportSeconds) {
    static final String PREFIX = "spark.allocator.";
    static final String NATIVE_MEMORY = PREFIX + "nativeMemory";
    static final String TASK_MEMORY = PREFIX + "taskMemory";
    static final String PROVIDER = PREFIX + "provider";
    static final String OPTION = PREFIX + "option.";
    static final String GPU_MEMORY = PREFIX + "gpuMemory";
    static final String GPU_PROVIDER = PREFIX + "gpuProvider";
    static final String GPU_OPTION = PREFIX + "gpuOption.";
    static final String REPORT_SECONDS = PREFIX + "reportSeconds";

    private static final List<String> KEYS =
            List.of(NATIVE_MEMORY, TASK_MEMORY, PROVIDER, GPU_MEMORY, GPU_PROVIDER, REPORT_SECONDS);
    private static final List<String> KNOWN = Stream.concat(KEYS.stream(), Stream.of(OPTION + "*", GPU_OPTION + "*"))
            .toList();

    /** Of the executor's memory overhead, the part that is ours unless the size is set. */
    private static final int OVERHEAD_PARTS = 2;

    private static final long MEBIBYTE = 1 << 20;
    private static final int LONGEST_INTERVAL = 3600;
    static final String ORIGIN = "the Spark configuration";

    /**
     * Reads and checks the settings, except for the options, which their provider checks.
     *
     * @throws InvalidOptionException if a key is unknown, or a value not accepted
     */
    static PluginSettings of(SparkConf conf) {
        final Map<String, String> all = new TreeMap<>();
        Stream.of(conf.getAllWithPrefix(PREFIX)).forEach(entry -> all.put(PREFIX + entry._1(), entry._2()));
        return of(all, conf);
    }

    /** Reads the settings that the driver sent. */
    static PluginSettings ofMessage(Map<String, String> message) {
        final Map<String, String> all = new TreeMap<>();
        message.forEach((key, value) -> {
            if (key.startsWith(PREFIX)) {
                all.put(key, value);
            }
        });
        return of(all, new SparkConf(false));
    }

    private static PluginSettings of(Map<String, String> all, SparkConf conf) {
        AllocatorOptions options = AllocatorOptions.EMPTY;
        AllocatorOptions gpuOptions = AllocatorOptions.EMPTY;
        for (final Map.Entry<String, String> entry : all.entrySet()) {
            final String key = entry.getKey();
            if (key.startsWith(OPTION)) {
                options = with(options, key, OPTION, entry.getValue(), NATIVE_MEMORY);
            } else if (key.startsWith(GPU_OPTION)) {
                gpuOptions = with(gpuOptions, key, GPU_OPTION, entry.getValue(), GPU_MEMORY);
            } else if (!KEYS.contains(key)) {
                throw InvalidOptionException.unknownKey(key, entry.getValue(), ORIGIN, KNOWN);
            }
        }
        final long nativeMemory =
                all.containsKey(NATIVE_MEMORY) ? size(all, NATIVE_MEMORY, MEBIBYTE, Long.MAX_VALUE) : share(conf);
        return new PluginSettings(
                nativeMemory,
                all.containsKey(TASK_MEMORY) ? size(all, TASK_MEMORY, 1, nativeMemory) : nativeMemory,
                all.getOrDefault(PROVIDER, "cpu-reference"),
                options,
                all.containsKey(GPU_MEMORY) ? size(all, GPU_MEMORY, 0, Long.MAX_VALUE) : 0,
                all.getOrDefault(GPU_PROVIDER, "cuda-arena"),
                gpuOptions,
                seconds(all));
    }

    private static AllocatorOptions with(
            AllocatorOptions options, String key, String prefix, String value, String sizeKey) {
        final String name = key.substring(prefix.length());
        if (name.equals(Limit.KEY.name())) {
            throw new InvalidOptionException(key, value, "for use here; set " + sizeKey, ORIGIN);
        }
        return options.with(name, value, key + " of " + ORIGIN);
    }

    private static long size(Map<String, String> all, String key, long least, long most) {
        final String text = all.getOrDefault(key, "");
        final String accepted = "a size of Spark's such as 512m or 2g, from " + least + " to " + most + " bytes"
                + (key.equals(TASK_MEMORY) ? ", which is " + NATIVE_MEMORY : "");
        final long bytes;
        try {
            bytes = new SparkConf(false).set(key, text).getSizeAsBytes(key);
        } catch (IllegalArgumentException e) {
            throw new InvalidOptionException(key, text, accepted, ORIGIN);
        }
        if (bytes < least || bytes > most) {
            throw new InvalidOptionException(key, text, accepted, ORIGIN);
        }
        return bytes;
    }

    private static int seconds(Map<String, String> all) {
        final String text = all.getOrDefault(REPORT_SECONDS, "10");
        try {
            final int seconds = Integer.parseInt(text);
            if (seconds >= 0 && seconds <= LONGEST_INTERVAL) {
                return seconds;
            }
        } catch (NumberFormatException e) {
            // Rejected as a number out of range is.
        }
        throw new InvalidOptionException(
                REPORT_SECONDS, text, "a number of seconds from 0 to " + LONGEST_INTERVAL, ORIGIN);
    }

    /** Returns our part of what Spark requests for an executor beyond its heap. */
    private static long share(SparkConf conf) {
        return Math.max(MEBIBYTE, overhead(conf) / OVERHEAD_PARTS);
    }

    /** Returns what Spark requests for an executor beyond its heap, by Spark's own rule. */
    static long overhead(SparkConf conf) {
        final long least = conf.getSizeAsMb("spark.executor.minMemoryOverhead", "384m");
        final double factor = conf.getDouble("spark.executor.memoryOverheadFactor", 0.1);
        final long heap = conf.getSizeAsMb("spark.executor.memory", "1g");
        final long standard = Math.max(least, (long) (heap * factor));
        return conf.getSizeAsMb("spark.executor.memoryOverhead", standard + "m") * MEBIBYTE;
    }

    /** Returns the settings as the map that executors get. */
    Map<String, String> toMessage() {
        final Map<String, String> message = new HashMap<>();
        message.put(NATIVE_MEMORY, Long.toString(nativeMemory));
        message.put(TASK_MEMORY, Long.toString(taskMemory));
        message.put(PROVIDER, provider);
        message.put(GPU_MEMORY, Long.toString(gpuMemory));
        message.put(GPU_PROVIDER, gpuProvider);
        message.put(REPORT_SECONDS, Integer.toString(reportSeconds));
        message.putAll(prefixed(OPTION, options));
        message.putAll(prefixed(GPU_OPTION, gpuOptions));
        return message;
    }

    private static Map<String, String> prefixed(String prefix, AllocatorOptions options) {
        return options.toMap().entrySet().stream()
                .collect(Collectors.toMap(entry -> prefix + entry.getKey(), Map.Entry::getValue));
    }
}
