package allocator.arena.page;

import allocator.provider.support.AllocatorWrapper;
import allocator.provider.support.UnreturnedMemory;
import allocator.provider.support.event.AllocatorEvents;
import allocator.spi.Allocator;
import allocator.spi.DeviceException;
import allocator.spi.PagedReserves;
import allocator.spi.RemappableReserves;
import allocator.spi.SyncStream;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Predicate;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/**
 * An upstream allocator of an arena whose reserves lie on pages of their own; another allocator serves all else. The
 * arena counts what has pages.
 *
 * <p>Pages go back once the device has done its work. As a free, an {@link #unmap} takes effect: what the device fails
 * to take back is {@link UnreturnedMemory}, still at its address.
 *
 * <p>A reserve that is {@linkplain #share shared} is read only from then on: another one of the same bytes is mapped to
 * its extents, which go back when the last one leaves. New pages are cleared, so that what no weight covers is equal.
 *
 * <p>The user makes one call at a time; only {@link #unreturnedBytes}, {@link #sharedBytes} and {@link #asleepBytes}
 * may be called at any time.
 */
public final class ReservePages extends AllocatorWrapper
        implements RemappableReserves, PagedReserves, UnreturnedMemory {
    private static final long NONE = -1;
    private static final long READ_BYTES = 4 << 20;
    private static final long SAMPLE_BYTES = 1 << 16;

    private final Allocator others;
    private final Pages pages;
    private final long partBytes;
    private final Runnable awaitDevice;
    private final Map<Long, Reserve> reserves = new HashMap<>();

    /** All that have memory of the device. */
    private final List<Extents> all = new ArrayList<>();

    /** How many there have been. */
    private long copies;

    private volatile long unreturnedBytes;
    private volatile long sharedBytes;
    private volatile long sharedPageBytes;
    private volatile long asleepBytes;

    /** Pages whose contents can be set and read. Each call is complete when it returns. */
    public interface Pages extends PageSource {
        /**
         * Fills mapped pages with zeros.
         *
         * @param address where they begin
         * @param byteSize their size
         * @throws DeviceException if the device fails
         */
        void clear(long address, long byteSize);

        /**
         * Copies mapped memory to the host.
         *
         * @param address where it begins
         * @param target receives as many bytes as it has
         * @throws DeviceException if the device fails
         */
        void read(long address, MemorySegment target);

        /**
         * Makes each write to mapped pages an error of the device, until they are mapped again.
         *
         * @param address where they begin
         * @param byteSize their size; may span several mappings
         * @throws DeviceException if the device fails
         */
        void protect(long address, long byteSize);
    }

    /** The memory of one reserve, or of several with one copy. */
    private final class Extents {
        private final long requested;
        private final long byteSize;

        /** The extent of each part; {@link #NONE} for none. */
        private final long[] parts;

        /** The number of the copy, {@code 0} before it is shared. */
        private long copy;

        /** A checksum of the first bytes, if it is shared. */
        private long sample;

        /** The reserves that are, or may still be, mapped to it. */
        private int users;

        /** Those of them that are in use. */
        private int live;

        Extents(Reserve reserve) {
            requested = reserve.requested;
            byteSize = reserve.byteSize;
            parts = new long[Math.toIntExact((byteSize + partBytes - 1) / partBytes)];
            Arrays.fill(parts, NONE);
        }

        long bytes(int part) {
            return Math.min(partBytes, byteSize - part * partBytes);
        }

        void release() {
            for (int i = 0; i < parts.length; i++) {
                if (parts[i] != NONE) {
                    pages.release(parts[i]);
                    parts[i] = NONE;
                }
            }
            all.remove(this);
        }

        long unreturned() {
            long sum = 0;
            for (int i = 0; i < parts.length && live == 0; i++) {
                sum += parts[i] == NONE ? 0 : bytes(i);
            }
            return sum;
        }
    }

    private final class Reserve {
        private final long address;
        private final long requested;
        private final long byteSize;
        private @Nullable Extents extents;

        /** Those of its copy, whether it has pages or none. */
        private long copy;

        private long sample;
        private boolean isMapped;
        private boolean isFreed;

        Reserve(long address, long requested) {
            this.address = address;
            this.requested = requested;
            byteSize = roundUp(requested);
        }

        /** Takes memory of the device. */
        void create(Part receiver) {
            final Extents own = new Extents(this);
            extents = own;
            all.add(own);
            for (int i = 0; i < own.parts.length; i++) {
                own.parts[i] = pages.create(Math.toIntExact(own.bytes(i) / pages.pageBytes()));
                pages.map(address + i * partBytes, own.parts[i]);
                receiver.mapped(i * partBytes, own.bytes(i));
            }
        }

        /** Maps it in place of what is there, which stays known as its own until all is done. */
        void mapTo(Extents to) {
            for (int i = 0; i < to.parts.length; i++) {
                pages.unmap(address + i * partBytes);
                pages.map(address + i * partBytes, to.parts[i]);
            }
            if (to.copy != 0) {
                pages.protect(address, byteSize);
            }
        }

        /** Ends its mappings, while the device is idle. */
        void unmap() {
            for (int i = 0; extents != null && i < extents.parts.length; i++) {
                pages.unmap(address + i * partBytes);
            }
            extents = null;
        }
    }

    /**
     * Puts an allocator's larger reserves on pages.
     *
     * @param others serves all else
     * @param pages the pages of the reserves; their owner closes them after this object's use
     * @param partBytes the most bytes of a part, a multiple of a page
     * @param awaitDevice waits for all work of the device, or throws
     */
    public ReservePages(Allocator others, Pages pages, long partBytes, Runnable awaitDevice) {
        super(others);
        this.others = others;
        this.pages = pages;
        this.partBytes = partBytes;
        this.awaitDevice = awaitDevice;
    }

    /**
     * {@return the bytes that a request for a reserve takes}
     *
     * @param byteSize the bytes requested
     */
    public long roundUp(long byteSize) {
        final long mask = pages.pageBytes() - 1;
        return byteSize <= mask || byteSize > Long.MAX_VALUE - mask ? byteSize : (byteSize + mask) & ~mask;
    }

    /**
     * {@return the bytes that were requested for a reserve, with pages or without; {@code 0} if there is none}
     *
     * @param address the reserve's address
     */
    public long requestedSize(long address) {
        final Reserve found = reserves.get(address);
        return found == null ? 0 : found.requested;
    }

    /**
     * {@return the bytes of the device that a {@link #map} takes: none if others have the copy}
     *
     * @param address the reserve's address
     */
    public long bytesToMap(long address) {
        final Reserve found = reserves.get(address);
        return found == null || copyOf(found) != null ? 0 : found.byteSize;
    }

    @Override
    public long pageBytes() {
        return pages.pageBytes();
    }

    @Override
    public long mappedBytes(long address) {
        final Reserve found = reserves.get(address);
        return found == null || found.isFreed ? -1 : found.isMapped ? found.byteSize : 0;
    }

    @Override
    public long alloc(long byteSize) {
        return others.alloc(byteSize);
    }

    @Override
    public long allocOnStream(long byteSize, SyncStream stream) {
        return streamAware().allocOnStream(byteSize, stream);
    }

    @Override
    public long reserve(long byteSize) {
        if (byteSize < pages.pageBytes()) {
            return others.reserve(byteSize);
        }
        final Reserve reserve = new Reserve(pages.reserve(roundUp(byteSize)), byteSize);
        reserves.put(reserve.address, reserve);
        try {
            map(reserve.address, (offset, part) -> pages.clear(reserve.address + offset, part));
            return reserve.address;
        } catch (Throwable e) {
            free(reserve.address);
            throw e;
        }
    }

    @Override
    public void map(long address, Part parts) {
        final Reserve reserve = require(address, false);
        try {
            if (reserve.extents != null || unreturnedBytes > 0) {
                awaitDevice.run();
                reserve.unmap();
                settle();
            }
            final Extents copy = copyOf(reserve);
            if (copy == null) {
                reserve.create(parts);
            } else {
                reserve.extents = copy;
                reserve.mapTo(copy);
            }
            reserve.isMapped = true;
        } catch (Throwable e) {
            giveBack(reserve);
            throw e;
        }
        settle();
    }

    /** Returns the copy of a reserve that others have in use, {@code null} if none has. */
    private @Nullable Extents copyOf(Reserve reserve) {
        return reserve.copy == 0 ? null : first(extents -> extents.copy == reserve.copy);
    }

    private @Nullable Extents first(Predicate<Extents> which) {
        return all.stream()
                .filter(extents -> extents.live > 0 && which.test(extents))
                .findFirst()
                .orElse(null);
    }

    /** Waits for all work of the device. May be called at any time. */
    public void awaitDevice() {
        awaitDevice.run();
    }

    /** Takes pages away, after {@link #awaitDevice} and without work that uses them since. */
    @Override
    public void unmap(long... addresses) {
        for (final long address : addresses) {
            giveBack(require(address, true), () -> {});
        }
    }

    private Reserve require(long address, boolean isMapped) {
        final Reserve found = reserves.get(address);
        if (found == null || found.isFreed || found.isMapped != isMapped) {
            throw new IllegalArgumentException("0x" + Long.toHexString(address) + " of " + info()
                    + (isMapped ? " has no pages of its own" : " is no reserve whose pages were taken away"));
        }
        return found;
    }

    @Override
    public long share(long address) {
        final Reserve reserve = reserves.get(address);
        if (reserve == null || !reserve.isMapped || Objects.requireNonNull(reserve.extents).copy != 0) {
            return 0;
        }
        final Extents equal = reserve.copy == 0 ? equal(reserve) : copyOf(reserve);
        if (equal != null) {
            join(reserve, equal);
            return reserve.byteSize;
        }
        pages.protect(address, reserve.byteSize);
        if (reserve.copy == 0) {
            copies++;
            reserve.copy = copies;
        }
        reserve.extents.copy = reserve.copy;
        reserve.extents.sample = reserve.sample;
        return 0;
    }

    /** Returns the copy with the bytes of a reserve, {@code null} if there is none. */
    private @Nullable Extents equal(Reserve reserve) {
        awaitDevice.run(); // whose work fills it
        try (Arena arena = Arena.ofConfined()) {
            final MemorySegment buffers = arena.allocate(2 * READ_BYTES);
            final MemorySegment sample = buffers.asSlice(0, Math.min(SAMPLE_BYTES, reserve.requested));
            pages.read(reserve.address, sample);
            final CRC32C sum = new CRC32C();
            sum.update(sample.asByteBuffer());
            reserve.sample = sum.getValue();
            return first(extents -> extents.copy != 0
                    && extents.requested == reserve.requested
                    && extents.sample == reserve.sample
                    && areEqual(reserve.address, addressOf(extents), reserve.requested, buffers));
        }
    }

    /** Compares up to the first part that differs. */
    private boolean areEqual(long one, long other, long byteSize, MemorySegment buffers) {
        for (long done = 0; done < byteSize; done += READ_BYTES) {
            final long part = Math.min(READ_BYTES, byteSize - done);
            final MemorySegment left = buffers.asSlice(0, part);
            final MemorySegment right = buffers.asSlice(READ_BYTES, part);
            pages.read(one + done, left);
            pages.read(other + done, right);
            if (left.mismatch(right) >= 0) {
                return false;
            }
        }
        return true;
    }

    @Override
    public long copyOf(long address) {
        final Reserve found = reserves.get(address);
        return found == null ? 0 : found.copy;
    }

    private long addressOf(Extents extents) {
        return reserves.values().stream()
                .filter(reserve -> reserve.isMapped && reserve.extents == extents)
                .findFirst()
                .orElseThrow()
                .address;
    }

    /** Maps a reserve to the equal memory of others; after a failure to its own. */
    private void join(Reserve reserve, Extents equal) {
        final Extents own = Objects.requireNonNull(reserve.extents);
        try {
            reserve.mapTo(equal);
        } catch (Throwable e) {
            if (!hasAgain(reserve, own)) {
                giveBack(reserve); // it has lost its pages
            }
            throw e;
        }
        reserve.extents = equal;
        reserve.copy = equal.copy;
        settle();
    }

    /** Maps a reserve to its own memory, with a second attempt, as one call of the device may fail. */
    private static boolean hasAgain(Reserve reserve, Extents own) {
        for (int i = 0; i < 2; i++) {
            try {
                reserve.mapTo(own);
                return true;
            } catch (Throwable e) {
                // The caller throws what came first.
            }
        }
        return false;
    }

    @Override
    public long sharedBytes() {
        return sharedBytes;
    }

    /** {@return the same with what whole pages add} */
    public long sharedPageBytes() {
        return sharedPageBytes;
    }

    /** {@return the bytes requested for the reserves whose pages were taken away} */
    public long asleepBytes() {
        return asleepBytes;
    }

    /** Offers the pages of a reserve to the device once it is idle, and ends a reserve that was freed. Never throws. */
    private void giveBack(Reserve reserve) {
        giveBack(reserve, awaitDevice);
    }

    private void giveBack(Reserve reserve, Runnable await) {
        reserve.isMapped = false;
        try {
            await.run();
            reserve.unmap();
        } catch (Throwable e) {
            report(reserve.address, reserve.byteSize, e);
        }
        if (reserve.isFreed && reserve.extents == null) {
            reserves.remove(reserve.address);
            try {
                pages.unreserve(reserve.address, reserve.byteSize); // or else the close of the pages does
            } catch (Throwable e) {
                report(reserve.address, reserve.byteSize, e);
            }
        }
        settle();
    }

    private void report(long address, long byteSize, Throwable failure) {
        try {
            AllocatorEvents.unreturned(info(), address, byteSize, failure);
        } catch (Throwable e) {
            // The memory is counted.
        }
    }

    /** Returns the memory that no reserve uses to the device, and counts. Never throws. */
    private void settle() {
        for (final Extents extents : all) {
            extents.users = 0;
            extents.live = 0;
        }
        long asleep = 0;
        for (final Reserve reserve : reserves.values()) {
            asleep += reserve.isMapped || reserve.isFreed ? 0 : reserve.requested;
            if (reserve.extents != null) {
                reserve.extents.users++;
                reserve.extents.live += reserve.isMapped ? 1 : 0;
            }
        }
        long unreturned = 0;
        long shared = 0;
        long sharedPages = 0;
        for (final Extents extents : List.copyOf(all)) {
            if (extents.users == 0) {
                try {
                    extents.release();
                } catch (Throwable e) {
                    report(0, extents.byteSize, e);
                }
            }
            final int saved = Math.max(0, extents.live - 1);
            unreturned += extents.unreturned();
            shared += saved * extents.requested;
            sharedPages += saved * extents.byteSize;
        }
        unreturnedBytes = unreturned;
        sharedBytes = shared;
        sharedPageBytes = sharedPages;
        asleepBytes = asleep;
    }

    @Override
    public void free(long address) {
        final Reserve reserve = reserves.get(address);
        if (reserve == null || reserve.isFreed) {
            others.free(address);
            return;
        }
        reserve.isFreed = true;
        giveBack(reserve);
    }

    @Override
    public long unreturnedBytes() {
        return unreturnedBytes
                + others.as(UnreturnedMemory.class)
                        .map(UnreturnedMemory::unreturnedBytes)
                        .orElse(0L);
    }

    @Override
    public long returnAgain() {
        final long before = unreturnedBytes;
        List.copyOf(reserves.values()).stream()
                .filter(reserve -> !reserve.isMapped && reserve.extents != null)
                .forEach(this::giveBack);
        settle();
        return before
                - unreturnedBytes
                + others.as(UnreturnedMemory.class)
                        .map(UnreturnedMemory::returnAgain)
                        .orElse(0L);
    }
}
