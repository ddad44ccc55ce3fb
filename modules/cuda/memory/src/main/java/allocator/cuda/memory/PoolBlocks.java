package allocator.cuda.memory;

import allocator.provider.support.BlockCounters;
import allocator.spi.AllocatorStats;
import allocator.spi.DoubleFreeException;
import allocator.spi.ForeignAddressException;
import allocator.spi.InteriorAddressException;
import allocator.spi.InvalidFreeException;
import allocator.spi.MemoryInfo;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;

/**
 * The books of a {@link DriverPool}: live blocks with size and stream, counters, the addresses freed last, and the
 * memory set aside because a stream may still use it. Safe for use by several threads: one short lock, inside which the
 * driver is not called and nothing is allocated except to grow.
 */
final class PoolBlocks {
    private static final int RECENT = 64;

    private final MemoryInfo info;
    private final BlockTable blocks = new BlockTable();
    private final BlockCounters counters = new BlockCounters();

    /** Freed, but perhaps still used by a stream that could not be drained. */
    private final List<Long> quarantine = new ArrayList<>();

    /** The addresses freed last, to tell a double free from a foreign address. */
    private final long[] recentlyFreed = new long[RECENT];

    private int nextRecent;
    private long peakBytesHeld;
    private long numShrinkages;

    PoolBlocks(MemoryInfo info) {
        this.info = info;
    }

    synchronized void allocated(long address, long byteSize, @Nullable CudaSyncStream stream) {
        blocks.add(address, byteSize, stream);
        counters.allocated(byteSize, byteSize);
    }

    synchronized void reserved(long address, long byteSize) {
        allocated(address, byteSize, null);
        counters.reserved();
    }

    synchronized void failed() {
        counters.failed();
    }

    /**
     * Removes a live block.
     *
     * @return its stream, {@code null} if it was allocated without one
     * @throws InvalidFreeException if no live block starts there; nothing changes
     */
    synchronized @Nullable CudaSyncStream remove(long address) {
        final int block = blocks.find(address);
        if (block == BlockTable.NONE) {
            throw invalidFree(address);
        }
        final CudaSyncStream stream = blocks.stream(block);
        final long byteSize = blocks.size(block);
        counters.freed(byteSize, byteSize);
        blocks.remove(block);
        recentlyFreed[nextRecent] = address;
        nextRecent = (nextRecent + 1) % RECENT;
        return stream;
    }

    private InvalidFreeException invalidFree(long address) {
        final long start = blocks.startOf(address);
        if (start != 0) {
            return new InteriorAddressException(
                    address,
                    "it lies " + (address - start) + " bytes inside the block at 0x" + Long.toHexString(start));
        }
        return Arrays.stream(recentlyFreed).anyMatch(freed -> freed == address)
                ? new DoubleFreeException(address, "it was freed already")
                : new ForeignAddressException(address, "it is not a live block of " + info);
    }

    /** Sets removed memory aside until the pool is closed. */
    synchronized void quarantine(long address) {
        quarantine.add(address);
    }

    synchronized long bytesInUse() {
        return counters.bytesInUse();
    }

    /** Raises the peak of bytes held. */
    synchronized void held(long byteSize) {
        peakBytesHeld = Math.max(peakBytesHeld, byteSize);
    }

    synchronized void shrunk() {
        numShrinkages++;
    }

    /** The addresses of all live blocks and of all memory set aside. */
    synchronized long[] all() {
        return LongStream.concat(
                        Arrays.stream(blocks.all()), quarantine.stream().mapToLong(Long::longValue))
                .toArray();
    }

    /**
     * Returns the statistics at this moment.
     *
     * @param reserved bytes that the driver held, a moment ago
     * @param peak the most that it held
     */
    synchronized AllocatorStats toStats(long limit, long reserved, long peak) {
        final long inUse = counters.bytesInUse();
        // Allocations since the driver was asked are held as well.
        final long held = Math.max(reserved, inUse);
        held(Math.max(peak, held));
        return counters.toStats()
                .limit(limit)
                .held(held, peakBytesHeld)
                .free(held - inUse, held - inUse)
                .regions(0, numShrinkages)
                .build();
    }
}
