package allocator.cpu.reference;

import org.jspecify.annotations.Nullable;

/**
 * Addresses for memory of a {@link HostFile} that its user has mapped nowhere: page {@code n} of the file is page
 * {@code n} there. They are neither read nor written. They keep the entries of the memory in the system's tables, which
 * move in a few microseconds, while to drop them and to make them again takes some hundred for 2 MiB.
 *
 * <p>To park is never necessary: where it fails, the entries are dropped.
 */
final class ParkedPages {
    private static final int LEAST_CAPACITY = 64;
    private static final int NO_FILE = -1;

    private final LinuxCalls linux;
    private final long pageBytes;
    private final ProcessMappings mappings;
    private @Nullable HostRange range;

    /** Whether a call has failed: there is no further one. */
    private boolean hasFailed;

    /** Creates a place without addresses, at which nothing is parked where mappings are few. */
    ParkedPages(LinuxCalls linux, long pageBytes, ProcessMappings mappings) {
        this.linux = linux;
        this.pageBytes = pageBytes;
        this.mappings = mappings;
    }

    /**
     * Parks an extent that is mapped at an address, where it stays mapped.
     *
     * @param file its file
     * @param first its first page
     * @param size how many it has
     * @return where it is parked; {@link HostFile#ENDED} if it is not
     */
    long park(HostFile file, int first, int size, long address) {
        if (hasFailed || !mappings.haveAmpleRoom()) {
            return HostFile.ENDED;
        }
        final HostRange parked;
        try {
            parked = withRoom(file, first + size);
        } catch (OutOfMemoryError e) {
            return HostFile.ENDED;
        }
        if (parked == null) {
            return HostFile.ENDED;
        }
        for (int page = first; page < first + size; page++) {
            if (parked.page(page) < 0) {
                parked.set(page, page, 1);
            }
        }
        final long place = parked.address() + first * pageBytes;
        hasFailed = linux.mremap(address, size * pageBytes, HostPages.MOVED, place) < 0;
        return hasFailed ? HostFile.ENDED : place;
    }

    /** Returns a range for so many pages, {@code null} if there are no addresses. */
    private @Nullable HostRange withRoom(HostFile file, int pages) {
        final HostRange before = range;
        if (before != null && pages * pageBytes <= before.byteSize()) {
            return before;
        }
        final long byteSize = Math.max(2L * pages, LEAST_CAPACITY) * pageBytes;
        final HostRange larger = new HostRange(mappings, byteSize, byteSize + pageBytes, pageBytes);
        final long reserved =
                linux.mmap(0, larger.reservedBytes(), LinuxCalls.PROT_NONE, HostPages.RESERVED, NO_FILE, 0);
        if (reserved < 0) {
            hasFailed = true;
            return null;
        }
        larger.reservedAt(reserved);
        giveBack(file);
        range = hasFailed ? null : larger;
        if (hasFailed) {
            linux.munmap(larger.reserved(), larger.reservedBytes());
        }
        return range;
    }

    /** Gives the addresses back, if the system takes them, and parks nothing there. */
    void giveBack(HostFile file) {
        final HostRange parked = range;
        if (parked == null) {
            return;
        }
        file.setUnmappedIn(parked.address(), parked.byteSize());
        hasFailed = linux.munmap(parked.reserved(), parked.reservedBytes()) < 0;
        if (!hasFailed) {
            parked.end();
            range = null;
        }
    }
}
