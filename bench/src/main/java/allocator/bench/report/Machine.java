package allocator.bench.report;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;

/** Where a run takes place. */
public final class Machine {
    private Machine() {}

    /** Describes CPU, processors, memory and system in one line. */
    public static String description() {
        final var system = (com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        return String.format(
                Locale.ROOT,
                "%s, %d processors, %d GiB, %s %s %s, transparent huge pages: %s",
                firstField(Path.of("/proc/cpuinfo"), "model name", "unknown CPU"),
                system.getAvailableProcessors(),
                Math.round((double) system.getTotalMemorySize() / (1 << 30)),
                system.getName(),
                system.getVersion(),
                system.getArch(),
                hugePages());
    }

    /** Names version and name of the JDK that measures. */
    public static String jdk() {
        return Runtime.version() + ", " + System.getProperty("java.vm.name");
    }

    /** Returns how many processes want a processor, the last minute's average to two decimals, or {@code unknown}. */
    public static String load() {
        final double load = ManagementFactory.getOperatingSystemMXBean().getSystemLoadAverage();
        return load < 0 ? "unknown" : String.format(Locale.ROOT, "%.2f", load);
    }

    /** Returns a field of what Linux says of this process, such as {@code VmRSS:}, in KiB; 0 on other systems. */
    public static long kibibytes(String field) throws IOException {
        return kibibytes(Path.of("/proc/self/status"), field);
    }

    /**
     * {@return the KiB that are resident of this process but files, with each page of memory counted once however often
     * it is mapped here; 0 on other systems} Files are left out, as what counts of them depends on other processes.
     *
     * @throws IOException if it cannot be read
     */
    public static long proportionalKibibytes() throws IOException {
        final Path rollup = Path.of("/proc/self/smaps_rollup");
        return kibibytes(rollup, "Pss_Anon:") + kibibytes(rollup, "Pss_Shmem:");
    }

    private static long kibibytes(Path file, String field) throws IOException {
        if (!Files.isReadable(file)) {
            return 0;
        }
        return Files.readAllLines(file).stream()
                .filter(line -> line.startsWith(field))
                .map(line -> line.replaceAll("\\D", ""))
                .mapToLong(Long::parseLong)
                .findFirst()
                .orElse(0);
    }

    private static String firstField(Path file, String field, String otherwise) {
        return lines(file).stream()
                .filter(line -> line.startsWith(field))
                .map(line -> line.substring(line.indexOf(':') + 1).strip())
                .findFirst()
                .orElse(otherwise);
    }

    private static String hugePages() {
        return lines(Path.of("/sys/kernel/mm/transparent_hugepage/enabled")).stream()
                .map(line -> line.replaceAll(".*\\[(.*)].*", "$1"))
                .findFirst()
                .orElse("unknown");
    }

    private static List<String> lines(Path file) {
        try {
            return Files.isReadable(file) ? Files.readAllLines(file) : List.of();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
