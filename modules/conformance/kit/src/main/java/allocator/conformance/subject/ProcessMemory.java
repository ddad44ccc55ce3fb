package allocator.conformance.subject;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.OptionalLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The memory of the host and of this process, as Linux counts it. */
public final class ProcessMemory {
    private static final Path HOST = Path.of("/proc/meminfo");
    private static final Path PROCESS = Path.of("/proc/self/status");

    private ProcessMemory() {}

    /** Returns the bytes that the host could give; {@code 0} where that is not known. */
    public static long available() {
        return read(HOST, "MemAvailable").orElse(0);
    }

    /** Returns the bytes of data that this process has mapped outside the heap, touched or not; empty if unknown. */
    public static OptionalLong mapped() {
        final OptionalLong data = read(PROCESS, "VmData");
        if (data.isEmpty()) {
            return data;
        }
        final long heap =
                ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getCommitted();
        return OptionalLong.of(data.getAsLong() - heap);
    }

    private static OptionalLong read(Path file, String name) {
        try {
            final Matcher line =
                    Pattern.compile("(?m)^" + name + ":\\s+(\\d+) kB$").matcher(Files.readString(file));
            return line.find() ? OptionalLong.of(Long.parseLong(line.group(1)) * 1024) : OptionalLong.empty();
        } catch (IOException notLinux) {
            return OptionalLong.empty();
        }
    }
}
