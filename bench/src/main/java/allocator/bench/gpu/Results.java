package allocator.bench.gpu;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Locale;

/**
 * Measurements as lines of CSV, one number each, appended to a file that Java and C++ write in turn:
 * {@code subject,workload,threads,metric,value}.
 *
 * @param subject what is measured, as the table shall call it
 */
record Results(Path file, String subject) {
    void add(String workload, int threads, String metric, double value) {
        final String line = String.format(Locale.ROOT, "%s,%s,%d,%s,%.4f%n", subject, workload, threads, metric, value);
        try {
            Files.writeString(file, line, StandardCharsets.UTF_8, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
