package allocator.provider.support;

import allocator.spi.AllocatorStats;
import allocator.spi.InvalidFreeException;
import allocator.spi.MemoryInfo;
import java.util.ArrayList;
import java.util.List;

/**
 * The books of an allocator that takes each block from its device: live blocks with their sizes, statistics, and memory
 * that the device did not take back. Safe for use by several threads; no method calls the device or blocks for long.
 *
 * <p>Order of calls, so that an address which comes again at once meets no old entry:
 *
 * <ol>
 *   <li>Take memory from the device; then {@link #allocated} or {@link #reserved}.
 *   <li>{@link #remove} at a free; then give the memory back to the device.
 *   <li>{@link #returned} if the device took it, {@link #notReturned} if it did not: the memory is then still held, and
 *       another free of the address tries again.
 *   <li>{@link #drain} at the close, and give everything back.
 * </ol>
 */
public final class BlockLedger {
    private final MemoryInfo info;
    private final LiveSizes live = new LiveSizes();
    private final LiveSizes unreturned = new LiveSizes();
    private final BlockCounters counters = new BlockCounters();
    private long bytesHeld;
    private long peakBytesHeld;

    /**
     * A block in the books.
     *
     * @param address first byte
     * @param byteSize size in bytes
     */
    public record Entry(long address, long byteSize) {}

    /**
     * Opens empty books.
     *
     * @param info the memory served, for messages
     */
    public BlockLedger(MemoryInfo info) {
        this.info = info;
    }

    /**
     * Enters an allocation.
     *
     * @param address first byte, where no live block starts
     * @param byteSize size in bytes, above zero
     */
    public synchronized void allocated(long address, long byteSize) {
        live.put(address, byteSize);
        counters.allocated(byteSize, byteSize);
        bytesHeld += byteSize;
        peakBytesHeld = Math.max(peakBytesHeld, bytesHeld);
    }

    /**
     * Enters an allocation that is a reserve.
     *
     * @param address first byte, where no live block starts
     * @param byteSize size in bytes, above zero
     */
    public synchronized void reserved(long address, long byteSize) {
        allocated(address, byteSize);
        counters.reserved();
    }

    /** Counts an allocation that failed for lack of memory. */
    public synchronized void failed() {
        counters.failed();
    }

    /**
     * Removes a live block, or memory that the device did not take back before. It stays held until {@link #returned}
     * or {@link #notReturned}.
     *
     * @param address what the allocation returned
     * @return its size in bytes
     * @throws InvalidFreeException if no such memory starts there; nothing changes
     */
    public synchronized long remove(long address) {
        final long liveSize = live.remove(address);
        if (liveSize != LiveSizes.NONE) {
            counters.freed(liveSize, liveSize);
            return liveSize;
        }
        final long unreturnedSize = unreturned.remove(address);
        if (unreturnedSize == LiveSizes.NONE) {
            throw InvalidFrees.diagnose(live, address, info);
        }
        return unreturnedSize;
    }

    /**
     * Records that the device has taken removed memory back.
     *
     * @param byteSize what {@link #remove} returned
     */
    public synchronized void returned(long byteSize) {
        bytesHeld -= byteSize;
    }

    /**
     * Records that the device did not take removed memory back: it counts as held, and is in {@link #drain}.
     *
     * @param address first byte
     * @param byteSize what {@link #remove} returned
     */
    public synchronized void notReturned(long address, long byteSize) {
        unreturned.put(address, byteSize);
    }

    /**
     * Removes all entries, at the close: live blocks, and memory that the device did not take back.
     *
     * @return what is to be given back, live blocks first
     */
    public synchronized List<Entry> drain() {
        final List<Entry> entries = new ArrayList<>(live.count() + unreturned.count());
        live.forEach((address, byteSize) -> entries.add(new Entry(address, byteSize)));
        unreturned.forEach((address, byteSize) -> entries.add(new Entry(address, byteSize)));
        live.clear();
        unreturned.clear();
        return entries;
    }

    /**
     * Returns the statistics at this moment. There is no limit, and free bytes are those on their way back or not taken
     * back.
     *
     * @return the statistics
     */
    public synchronized AllocatorStats stats() {
        return counters.toStats()
                .held(bytesHeld, peakBytesHeld)
                .free(bytesHeld - counters.bytesInUse(), 0)
                .build();
    }
}
