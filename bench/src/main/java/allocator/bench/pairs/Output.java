package allocator.bench.pairs;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.HdrHistogram.Histogram;

/** The file through which a JVM that measures tells its parent: {@code workload,threads,metric,value}. */
record Output(Path file) {
    void add(String workload, int threads, Metric metric, double value) {
        try {
            Files.writeString(
                    file,
                    workload + "," + threads + "," + metric + "," + value + "\n",
                    StandardOpenOption.CREATE,
                    StandardOpenOption.APPEND);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Adds the percentiles of single operations. */
    void add(String workload, int threads, Histogram times) {
        add(workload, threads, Metric.P50_NS, (double) times.getValueAtPercentile(50));
        add(workload, threads, Metric.P99_NS, (double) times.getValueAtPercentile(99));
        add(workload, threads, Metric.P999_NS, (double) times.getValueAtPercentile(99.9));
        add(workload, threads, Metric.MAX_NS, (double) times.getMaxValue());
    }
}
