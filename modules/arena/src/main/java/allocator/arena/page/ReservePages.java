package allocator.arena.page;

import allocator.provider.support.AllocatorWrapper;
import allocator.provider.support.UnreturnedMemory;
import allocator.provider.support.event.AllocatorEvents;
import allocator.spi.Allocator;
import allocator.spi.RemappableReserves;
import allocator.spi.SyncStream;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * An upstream allocator of an arena whose reserves lie on pages of their own; another allocator serves all else. The
 * arena counts what has pages.
 *
 * <p>Pages go back once the device has done its work. As a free, an {@link #unmap} takes effect: what the device fails
 * to take back is {@link UnreturnedMemory}, still at its address.
 *
 * <p>The user makes one call at a time; only {@link #unreturnedBytes} may be called at any time.
 */
public final class ReservePages extends AllocatorWrapper implements RemappableReserves, UnreturnedMemory {
    private static final long NONE = -1;

    private final Allocator others;
    private final PageSource pages;
    private final long partBytes;
    private final Runnable awaitDevice;
    private final Map<Long, Reserve> reserves = new HashMap<>();
    private volatile long unreturnedBytes;

    private final class Reserve {
        private final long address;
        private final long requested;
        private final long byteSize;

        /** The extent of each part; {@link #NONE} for none. */
        private final long[] extents;

        private boolean isMapped;
        private boolean isFreed;

        Reserve(long address, long requested) {
            this.address = address;
            this.requested = requested;
            byteSize = roundUp(requested);
            extents = new long[Math.toIntExact((byteSize + partBytes - 1) / partBytes)];
            Arrays.fill(extents, NONE);
        }

        private long bytes(int part) {
            return Math.min(partBytes, byteSize - part * partBytes);
        }

        void map(Part parts) {
            for (int i = 0; i < extents.length; i++) {
                extents[i] = pages.create(Math.toIntExact(bytes(i) / pages.pageBytes()));
                pages.map(address + i * partBytes, extents[i]);
                parts.mapped(i * partBytes, bytes(i));
            }
            isMapped = true;
        }

        /** Returns all pages to the device, which is idle. */
        void giveBack() {
            for (int i = 0; i < extents.length; i++) {
                if (extents[i] != NONE) {
                    pages.unmap(address + i * partBytes);
                    pages.release(extents[i]);
                    extents[i] = NONE;
                }
            }
        }

        long unreturned() {
            long sum = 0;
            for (int i = 0; i < extents.length && !isMapped; i++) {
                sum += extents[i] == NONE ? 0 : bytes(i);
            }
            return sum;
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
    public ReservePages(Allocator others, PageSource pages, long partBytes, Runnable awaitDevice) {
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
            map(reserve.address, (offset, part) -> {});
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
            if (reserve.unreturned() > 0) {
                awaitDevice.run();
                reserve.giveBack();
            }
            reserve.map(parts);
        } catch (Throwable e) {
            giveBack(reserve);
            throw e;
        }
        count();
    }

    @Override
    public void unmap(long address) {
        final Reserve reserve = require(address, true);
        awaitDevice.run();
        giveBack(reserve, () -> {});
    }

    private Reserve require(long address, boolean isMapped) {
        final Reserve found = reserves.get(address);
        if (found == null || found.isFreed || found.isMapped != isMapped) {
            throw new IllegalArgumentException("0x" + Long.toHexString(address) + " of " + info()
                    + (isMapped ? " has no pages of its own" : " is no reserve whose pages were taken away"));
        }
        return found;
    }

    /** Offers the pages of a reserve to the device once it is idle, and ends a reserve that was freed. Never throws. */
    private void giveBack(Reserve reserve) {
        giveBack(reserve, awaitDevice);
    }

    private void giveBack(Reserve reserve, Runnable await) {
        reserve.isMapped = false;
        try {
            await.run();
            reserve.giveBack();
            if (reserve.isFreed) {
                reserves.remove(reserve.address);
                pages.unreserve(reserve.address, reserve.byteSize); // or else the close of the pages does
            }
        } catch (Throwable e) {
            report(reserve, e);
        }
        count();
    }

    private void report(Reserve reserve, Throwable failure) {
        try {
            AllocatorEvents.unreturned(info(), reserve.address, reserve.unreturned(), failure);
        } catch (Throwable e) {
            // The memory is counted.
        }
    }

    private void count() {
        unreturnedBytes =
                reserves.values().stream().mapToLong(Reserve::unreturned).sum();
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
                .filter(reserve -> reserve.unreturned() > 0)
                .forEach(this::giveBack);
        return before
                - unreturnedBytes
                + others.as(UnreturnedMemory.class)
                        .map(UnreturnedMemory::returnAgain)
                        .orElse(0L);
    }
}
