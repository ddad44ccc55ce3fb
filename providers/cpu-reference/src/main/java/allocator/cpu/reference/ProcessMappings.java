package allocator.cpu.reference;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.function.LongSupplier;

/**
 * How many mappings the process has, of the {@code vm.max_map_count} that Linux allows. A JVM that finds none left ends
 * at once, so the memory of this provider takes new ones only below three quarters of them.
 *
 * <p>The count is the system's own, so it has the mappings of the JVM, of other libraries, and of this class in another
 * class loader. To read it takes about a microsecond for each mapping. It is read again when the mappings added since
 * the last time are an eighth of what was left, and when others may have added many: after {@value #PAUSES} times as
 * long as the last reading took.
 */
final class ProcessMappings {
    private static final Path LIMIT = Path.of("/proc/sys/vm/max_map_count");
    private static final Path LIST = Path.of("/proc/self/maps");

    /** The limit of Linux where no other is set. */
    private static final long DEFAULT_LIMIT = 65_530;

    private static final int LEAST_ADDED = 64;
    private static final int PAUSES = 8;
    private static final long LEAST_PAUSE_NANOS = 10_000_000;

    /** In place of a count that cannot be read, as without a free descriptor. */
    static final long UNKNOWN = -1;

    /** The mappings of this process, as its system counts them; without a limit where it has no such list. */
    static final ProcessMappings PROCESS = Files.isReadable(LIST)
            ? new ProcessMappings(limit(), ProcessMappings::count, System::nanoTime)
            : new ProcessMappings(Long.MAX_VALUE, () -> 0, System::nanoTime);

    private final long limit;
    private final LongSupplier counter;
    private final LongSupplier clock;

    /** The last count, with the changes noted since. */
    private long estimate;

    /** How many more may be noted before the next count. */
    private long leftToAdd;

    /** When the next count is due at the latest, by the clock. */
    private long due;

    /**
     * Creates a count.
     *
     * @param limit the most mappings that a process may have
     * @param counter counts those that it has; {@link #UNKNOWN} if it cannot
     * @param clock nanoseconds since any time
     */
    ProcessMappings(long limit, LongSupplier counter, LongSupplier clock) {
        this.limit = limit;
        this.counter = counter;
        this.clock = clock;
    }

    /** The system's limit. Such a file gives its contents to the first read alone, so that must not be of one byte. */
    static long limit() {
        final byte[] text = new byte[32];
        try (InputStream file = Files.newInputStream(LIMIT)) {
            final int byteSize = file.read(text);
            return Long.parseLong(new String(text, 0, Math.max(byteSize, 0), StandardCharsets.US_ASCII).strip());
        } catch (IOException | NumberFormatException e) {
            return DEFAULT_LIMIT;
        }
    }

    /** Counts the mappings of this process; {@link #UNKNOWN} where the list cannot be read. */
    static long count() {
        final byte[] lines = new byte[1 << 16];
        long count = 0;
        try (InputStream list = Files.newInputStream(LIST)) {
            for (int length = list.read(lines); length > 0; length = list.read(lines)) {
                for (int i = 0; i < length; i++) {
                    count += lines[i] == '\n' ? 1 : 0;
                }
            }
            return count;
        } catch (IOException e) {
            return UNKNOWN;
        }
    }

    /** Returns whether so many more mappings leave the process below three quarters of its limit. */
    synchronized boolean haveRoomFor(long more) {
        final long now = clock.getAsLong();
        if (leftToAdd <= 0 || now - due >= 0) {
            final long counted = counter.getAsLong();
            estimate = counted == UNKNOWN ? estimate : counted;
            leftToAdd = Math.max((most() - estimate) / 8, LEAST_ADDED);
            final long end = clock.getAsLong();
            due = end + Math.max(PAUSES * (end - now), LEAST_PAUSE_NANOS);
        }
        return estimate + more <= most();
    }

    /** Returns whether an eighth of the limit can be used yet: below, every few changes would be counted again. */
    boolean haveAmpleRoom() {
        return haveRoomFor(limit / 8);
    }

    /** Notes that the process has more mappings, or fewer. */
    synchronized void add(long more) {
        estimate += more;
        leftToAdd -= Math.max(more, 0);
    }

    private long most() {
        return limit / 4 * 3;
    }

    /** Says what a person can do who needs more. */
    String advice() {
        return "vm.max_map_count is " + limit + "; raise it (sysctl -w vm.max_map_count=...), or use fewer and larger "
                + "blocks, regions or pages";
    }
}
