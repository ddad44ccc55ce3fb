package allocator.cpu.reference;

import java.util.concurrent.atomic.AtomicLong;

/**
 * Addresses that {@link HostPages} reserved, those of them that its user got, and which page is mapped where.
 *
 * <p>The system counts two neighbours as one mapping where none of the two has a page, or the second has the page after
 * that of the first. Between others there is a boundary: {@code mappings == boundaries + 1}.
 */
final class HostRange {
    /** The boundaries in the ranges of all sources. */
    private static final AtomicLong ALL_BOUNDARIES = new AtomicLong();

    private final long byteSize;
    private final long reservedBytes;
    private final long pageBytes;
    private long reserved;
    private long address;

    /** For each page of addresses 0, or 1 more than the number of the page that is or may be mapped there. */
    private final int[] mapped;

    private int boundaries;

    /** Creates a range that is not reserved yet. */
    HostRange(long byteSize, long reservedBytes, long pageBytes) {
        this.byteSize = byteSize;
        this.reservedBytes = reservedBytes;
        this.pageBytes = pageBytes;
        mapped = new int[(int) (byteSize / pageBytes)];
    }

    static long allBoundaries() {
        return ALL_BOUNDARIES.get();
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

    boolean isMapped(int index) {
        return mapped[index] != 0;
    }

    /** Returns how many boundaries there would be more if a page were mapped. */
    int boundariesWith(int index, int page) {
        return boundariesIf(index, page + 1);
    }

    private int boundariesIf(int index, int changed) {
        final int left = index == 0 ? 0 : mapped[index - 1];
        final int right = index == mapped.length - 1 ? 0 : mapped[index + 1];
        return boundaries(left, changed, right) - boundaries(left, mapped[index], right);
    }

    private static int boundaries(int left, int middle, int right) {
        return (isBoundary(left, middle) ? 1 : 0) + (isBoundary(middle, right) ? 1 : 0);
    }

    private static boolean isBoundary(int left, int right) {
        return left == 0 ? right != 0 : right != left + 1;
    }

    void set(int index, int page) {
        change(index, page + 1);
    }

    void clear(int index) {
        change(index, 0);
    }

    private void change(int index, int changed) {
        final int more = boundariesIf(index, changed);
        mapped[index] = changed;
        boundaries += more;
        ALL_BOUNDARIES.addAndGet(more);
    }

    /** Ends the range with all its mappings. */
    void end() {
        ALL_BOUNDARIES.addAndGet(-boundaries);
    }
}
