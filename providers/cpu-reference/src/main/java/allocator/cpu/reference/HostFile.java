package allocator.cpu.reference;

import allocator.provider.support.budget.Budget;
import allocator.spi.DeviceException;
import allocator.spi.MemoryInfo;
import allocator.spi.OutOfMemoryException;
import allocator.spi.OutOfMemoryException.Shortage;
import allocator.spi.UnsupportedMemoryException;
import java.util.Arrays;
import java.util.BitSet;

/**
 * The file whose parts are the pages of {@link HostPages}: memory without a name. Page {@code n} begins at {@code n *
 * pageBytes}, and the file ends with the last page that exists. An extent is pages side by side, and has the number of
 * its first page. The numbers of released pages are reused, the lowest first.
 *
 * <p>A page takes up memory where it was used: what was never written, or was released, is a hole in the file. The
 * system could be asked for all of it at the creation ({@code fallocate}), and would report a lack of memory there. But
 * then an extent takes up memory where nothing is ever written, and its creation takes 40 instead of 2 microseconds for
 * 256 KiB.
 */
final class HostFile {
    static final int NONE = -1;

    /** The address of an extent that was never mapped. */
    static final long NEVER = 0;

    /** The address of an extent that was mapped, and whose last mapping has ended. */
    static final long ENDED = -1;

    /** More make no array. */
    private static final int MOST_PAGES = Integer.MAX_VALUE - 8;

    private static final int LEAST_GROWTH = 64;

    private final LinuxCalls linux;
    private final MemoryInfo info;
    private final long pageBytes;
    private final Budget budget;
    private int descriptor;

    /** The pages that exist. */
    private final BitSet pages = new BitSet();

    /** By page: the size in pages of the extent that begins with it, otherwise 0. */
    private int[] sizes = new int[0];

    /**
     * By page: the address from which the extent that begins with it can be moved, as it was mapped or parked there
     * last; {@link #NEVER} if it was not since it was created, {@link #ENDED} if that mapping has ended.
     */
    private long[] addresses = new long[0];

    /** No page below it is released. */
    private int lowestFree;

    /** The end of the file, in pages. */
    private int end;

    /**
     * Opens a file without pages.
     *
     * @throws UnsupportedMemoryException if the system has no such files
     */
    HostFile(LinuxCalls linux, MemoryInfo info, long pageBytes) {
        this.linux = linux;
        this.info = info;
        this.pageBytes = pageBytes;
        budget = Budget.ofMemory(info);
        descriptor = open(linux);
    }

    /** Opens a file whose contents cannot be executed, as some systems demand and older ones do not know. */
    static int open(LinuxCalls linux) {
        final int flags = LinuxCalls.MFD_CLOEXEC | LinuxCalls.MFD_ALLOW_SEALING;
        long opened = linux.memfdCreate(flags | LinuxCalls.MFD_NOEXEC_SEAL);
        if (opened == -LinuxCalls.EINVAL) {
            opened = linux.memfdCreate(flags);
        }
        if (opened == -LinuxCalls.EMFILE || opened == -LinuxCalls.ENFILE) {
            throw new DeviceException(
                    "memfd_create failed, as the " + (opened == -LinuxCalls.EMFILE ? "process" : "system")
                            + " has too many open files (errno " + -opened + "); raise ulimit -n, or close what is "
                            + "open: arenas with arena.policy=compact and copies of shared weights need one each",
                    null);
        }
        if (opened < 0) {
            throw new UnsupportedMemoryException("memfd_create failed with errno " + -opened
                    + "; arena.policy=best-fit works without it, as do weights that are not shared");
        }
        return (int) opened;
    }

    /** Returns the descriptor, negative after the close. */
    int descriptor() {
        return descriptor;
    }

    /** Returns how many pages exist. */
    int pageCount() {
        return pages.cardinality();
    }

    /** Creates an extent, and returns its number. */
    int create(int size) {
        final int first = firstOfFree(size);
        if (size > MOST_PAGES - first) {
            throw shortage("No file has that many pages", size);
        }
        budget.require(size * pageBytes, info);
        try {
            pages.set(first, first + size); // before the call, as the Java heap may end
            if (first >= sizes.length) {
                final int length = first + Math.max(first >> 1, LEAST_GROWTH);
                addresses = Arrays.copyOf(addresses, length);
                sizes = Arrays.copyOf(sizes, length);
            }
            if (first + size > end) {
                setEnd(first + size);
            }
        } catch (Throwable e) {
            pages.clear(first, first + size);
            budget.release(size * pageBytes);
            throw e;
        }
        sizes[first] = size;
        if (first == lowestFree) {
            lowestFree = first + size;
        }
        return first;
    }

    /** Returns the first of the lowest pages side by side that do not exist. */
    private int firstOfFree(int size) {
        lowestFree = pages.nextClearBit(lowestFree);
        int first = lowestFree;
        int next = pages.nextSetBit(first);
        while (next >= 0 && next - first < size) {
            first = pages.nextClearBit(next);
            next = pages.nextSetBit(first);
        }
        return first;
    }

    private void setEnd(int newEnd) {
        final long result = linux.ftruncate(descriptor, newEnd * pageBytes);
        if (result < 0) {
            throw newEnd > end && isShortage(result)
                    ? shortage("ftruncate failed with errno " + -result, newEnd - end)
                    : failure("ftruncate", result);
        }
        end = newEnd;
    }

    private static boolean isShortage(long result) {
        return result == -LinuxCalls.ENOMEM || result == -LinuxCalls.ENOSPC || result == -LinuxCalls.EFBIG;
    }

    private OutOfMemoryException shortage(String reason, int size) {
        return new OutOfMemoryException(
                reason, Shortage.ofDevice(info, size * pageBytes, OutOfMemoryException.UNKNOWN));
    }

    private static DeviceException failure(String call, long result) {
        final String advice = result == -LinuxCalls.EOPNOTSUPP
                ? ", as the system cannot return a part of a file of memory; use arena.policy=best-fit"
                : "";
        return new DeviceException(call + " failed with errno " + -result + advice, null);
    }

    /** Returns the size of an extent in pages. */
    int size(long extent) {
        if (extent < 0 || extent >= sizes.length || sizes[(int) extent] == 0) {
            throw new IllegalArgumentException("there is no extent " + extent);
        }
        return sizes[(int) extent];
    }

    /** Returns where an extent was mapped or parked last: an address, {@link #NEVER} or {@link #ENDED}. */
    long lastMapped(int extent) {
        return addresses[extent];
    }

    /** Notes that an extent is mapped or parked at an address, or that this has ended. */
    void setMapped(int extent, long address) {
        addresses[extent] = address;
    }

    /** Notes that no extent is any more mapped at an address within a range. */
    void setUnmappedIn(long start, long byteSize) {
        for (int page = 0; page < addresses.length; page++) {
            final long offset = addresses[page] - start;
            if (offset >= 0 && offset < byteSize) {
                addresses[page] = ENDED;
            }
        }
    }

    /** Releases an extent. */
    void release(long extent) {
        final int size = size(extent);
        final int first = (int) extent;
        if (first + size == end) {
            setEnd(pages.previousSetBit(first - 1) + 1);
        } else {
            makeHole(extent, size);
        }
        pages.clear(first, first + size);
        budget.release(size * pageBytes);
        addresses[first] = NEVER;
        sizes[first] = 0;
        lowestFree = Math.min(lowestFree, first);
    }

    private void makeHole(long extent, int size) {
        final int mode = LinuxCalls.FALLOC_FL_PUNCH_HOLE | LinuxCalls.FALLOC_FL_KEEP_SIZE;
        final long result = linux.fallocate(descriptor, mode, extent * pageBytes, size * pageBytes);
        if (result < 0) {
            throw failure("fallocate", result);
        }
    }

    /** Closes the file, unless it is closed. Its memory is free once nothing of it is mapped. */
    void close() {
        if (descriptor != NONE) {
            linux.close(descriptor); // closes it even where it fails
            descriptor = NONE;
        }
        budget.release(pages.cardinality() * pageBytes);
        pages.clear();
        Arrays.fill(addresses, NEVER);
        Arrays.fill(sizes, 0);
        end = 0;
        lowestFree = 0;
    }
}
