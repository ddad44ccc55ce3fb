package allocator.cpu.reference;

import java.util.Arrays;

/**
 * Addresses that {@link HostPages} reserved, those of them that its user got, and which page is mapped where. Extents
 * are pages side by side, in the range as in the file.
 *
 * <p>The system counts two neighbours as one mapping where none of the two has a page, or the second has the page after
 * that of the first. Between others there is a boundary: {@code mappings == boundaries + 1}.
 */
final class HostRange {
    private static final int LEAST_GROWTH = 16;

    private final ProcessMappings mappings;
    private final long byteSize;
    private final long reservedBytes;
    private final long pageBytes;
    private long reserved;
    private long address;

    /**
     * For each page of addresses 0, or 1 more than the number of the page that is or may be mapped there. It grows:
     * behind its end nothing is mapped.
     */
    private int[] mapped = new int[0];

    private int boundaries;

    /** Creates a range that is not reserved yet. */
    HostRange(ProcessMappings mappings, long byteSize, long reservedBytes, long pageBytes) {
        this.mappings = mappings;
        this.byteSize = byteSize;
        this.reservedBytes = reservedBytes;
        this.pageBytes = pageBytes;
    }

    void reservedAt(long start) {
        reserved = start;
        address = (start + pageBytes - 1) & -pageBytes;
    }

    long reserved() {
        return reserved;
    }

    long reservedBytes() {
        return reservedBytes;
    }

    /** The first address that the user got. */
    long address() {
        return address;
    }

    /** What the user got. */
    long byteSize() {
        return byteSize;
    }

    boolean contains(long wanted) {
        return wanted >= address && wanted - address < byteSize;
    }

    /** Refuses what is no address of a page. */
    int index(long wanted) {
        final long offset = wanted - address;
        if (offset % pageBytes != 0) {
            throw new IllegalArgumentException("0x" + Long.toHexString(wanted) + " is no address of a page");
        }
        return (int) (offset / pageBytes);
    }

    /** Returns whether there are pages of addresses from an index on, none of which is mapped. */
    boolean isFree(int index, int size) {
        if (size > byteSize / pageBytes - index) {
            return false;
        }
        for (int i = index; i < Math.min(index + size, mapped.length); i++) {
            if (mapped[i] != 0) {
                return false;
            }
        }
        return true;
    }

    /** Returns the page that is mapped at an index, -1 if none is. */
    int page(int index) {
        return entry(index) - 1;
    }

    private int entry(int index) {
        return index < 0 || index >= mapped.length ? 0 : mapped[index];
    }

    /** Returns how many boundaries there would be more if pages were mapped where none are. */
    int boundariesWith(int index, int page, int size) {
        return boundariesIf(index, size, page + 1) - boundariesIf(index, size, 0);
    }

    /** Returns the boundaries at both ends of several pages of addresses, where the first is as given. */
    private int boundariesIf(int index, int size, int first) {
        final int left = entry(index - 1);
        final int right = entry(index + size);
        final int last = first == 0 ? 0 : first + size - 1;
        return (isBoundary(left, first) ? 1 : 0) + (isBoundary(last, right) ? 1 : 0);
    }

    private static boolean isBoundary(int left, int right) {
        return left == 0 ? right != 0 : right != left + 1;
    }

    /** Notes that pages are mapped where none were. */
    void set(int index, int page, int size) {
        if (index + size > mapped.length) {
            final long length = Math.max(index + size + LEAST_GROWTH, mapped.length + (mapped.length >> 1));
            mapped = Arrays.copyOf(mapped, (int) Math.min(length, byteSize / pageBytes));
        }
        addBoundaries(boundariesWith(index, page, size));
        for (int i = 0; i < size; i++) {
            mapped[index + i] = page + i + 1;
        }
    }

    /** Notes that pages that were mapped at once are mapped no more. */
    void clear(int index, int size) {
        addBoundaries(-boundariesWith(index, page(index), size));
        Arrays.fill(mapped, index, index + size, 0);
    }

    private void addBoundaries(int more) {
        boundaries += more;
        mappings.add(more);
    }

    /** Ends the range with all its mappings. */
    void end() {
        mappings.add(-boundaries);
    }
}
