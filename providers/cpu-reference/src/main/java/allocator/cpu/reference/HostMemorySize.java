package allocator.cpu.reference;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * How much memory the process may use at most: what the system has, or less, where a control group that the process is
 * in has a smaller limit, or the process may have few addresses. Both versions of control groups count, and all groups
 * above the process's own.
 *
 * @param proc the folder of {@code meminfo}, {@code self/cgroup} and {@code self/limits}
 * @param groups the folder in which the groups of version 2 are, and that of version 1 as {@code memory}
 */
record HostMemorySize(Path proc, Path groups) {
    static final HostMemorySize SYSTEM = new HostMemorySize(Path.of("/proc"), Path.of("/sys/fs/cgroup"));

    /** Where the system does not say. */
    private static final long UNKNOWN = 1L << 40;

    /** The addresses that a process may have ({@code ulimit -v}) are also for its Java heap and its threads. */
    private static final int PART_OF_ADDRESSES = 4;

    /** Returns the memory in bytes. */
    long bytes() {
        long least = UNKNOWN;
        for (final String line : lines(proc.resolve("meminfo"))) {
            if (line.startsWith("MemTotal:")) {
                least = number(line.replaceAll("[^0-9]", ""), least >> 10) << 10;
            }
        }
        for (final String line : lines(proc.resolve("self/limits"))) {
            if (line.startsWith("Max address space")) { // the soft limit comes first
                least = Math.min(least, number(line.split(" {2,}", -1)[1], Long.MAX_VALUE) / PART_OF_ADDRESSES);
            }
        }
        for (final String line : lines(proc.resolve("self/cgroup"))) {
            final String[] group = line.split(":", 3); // number:controllers:/path
            if (group.length == 3 && group[1].isEmpty()) {
                least = Math.min(least, limit(groups, group[2], "memory.max"));
            } else if (group.length == 3 && List.of(group[1].split(",", -1)).contains("memory")) {
                least = Math.min(least, limit(groups.resolve("memory"), group[2], "memory.limit_in_bytes"));
            }
        }
        return least;
    }

    /** Returns the least limit of a group and of those above it. In a container its own group is the folder itself. */
    private static long limit(Path folder, String group, String file) {
        long least = Long.MAX_VALUE;
        for (String path = group; ; path = path.substring(0, Math.max(path.lastIndexOf('/'), 0))) {
            for (final String line : lines(Path.of(folder + path, file))) {
                least = Math.min(least, number(line, Long.MAX_VALUE)); // "max" for none
            }
            if (path.isEmpty()) {
                return least;
            }
        }
    }

    private static long number(String text, long otherwise) {
        try {
            return Long.parseLong(text.strip());
        } catch (NumberFormatException e) {
            return otherwise;
        }
    }

    private static List<String> lines(Path file) {
        try {
            return Files.readAllLines(file, StandardCharsets.UTF_8);
        } catch (IOException | UncheckedIOException e) {
            return List.of();
        }
    }
}
