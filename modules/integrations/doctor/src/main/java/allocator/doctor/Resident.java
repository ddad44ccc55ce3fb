package allocator.doctor;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * The resident memory of this process, of which only Linux tells.
 *
 * @param now the bytes at the moment
 * @param peak the most bytes so far
 */
record Resident(long now, long peak) {
    private static final Path STATUS = Path.of("/proc/self/status");

    /** Reads it; both are 0 where it is not known. */
    static Resident read() throws IOException {
        long now = 0;
        long peak = 0;
        if (Files.exists(STATUS)) {
            for (final String line : Files.readAllLines(STATUS)) {
                if (line.startsWith("VmRSS:")) {
                    now = bytes(line);
                } else if (line.startsWith("VmHWM:")) {
                    peak = bytes(line);
                }
            }
        }
        return new Resident(now, peak);
    }

    private static long bytes(String line) {
        return Long.parseLong(line.replaceAll("\\D", "")) << 10;
    }
}
