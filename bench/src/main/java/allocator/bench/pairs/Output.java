package allocator.bench.pairs;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.HdrHistogram.Histogram;

/** Where a JVM that measures puts its figures. */
interface Output {
    void add(String workload, int threads, Metric metric, double value);

    /** Adds the percentiles of single operations. */
    default void add(String workload, int threads, Histogram times) {
        add(workload, threads, Metric.P50_NS, (double) times.getValueAtPercentile(50));
        add(workload, threads, Metric.P99_NS, (double) times.getValueAtPercentile(99));
        add(workload, threads, Metric.P999_NS, (double) times.getValueAtPercentile(99.9));
        add(workload, threads, Metric.MAX_NS, (double) times.getMaxValue());
    }

    /** A file that the parent process reads, with lines of {@code workload,threads,metric,value}. */
    static Output to(Path file) {
        return (workload, threads, metric, value) -> {
            try {
                Files.writeString(
                        file,
                        workload + "," + threads + "," + metric + "," + value + "\n",
                        StandardOpenOption.CREATE,
                        StandardOpenOption.APPEND);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        };
    }
}
