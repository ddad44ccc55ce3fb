package allocator.cuda.memory;

import allocator.cuda.driver.CudaException;
import allocator.provider.support.BlockCounters;
import allocator.provider.support.FailedReturn;
import allocator.provider.support.LogLimit;
import allocator.provider.support.ReturnGate;
import allocator.provider.support.ReturnsUnderWay;
import allocator.spi.AllocatorSnapshot;
import allocator.spi.AllocatorSnapshot.Chunk;
import allocator.spi.AllocatorSnapshot.State;
import allocator.spi.AllocatorStats;
import allocator.spi.DeviceException;
import allocator.spi.DoubleFreeException;
import allocator.spi.ForeignAddressException;
import allocator.spi.InteriorAddressException;
import allocator.spi.InvalidFreeException;
import allocator.spi.MemoryInfo;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The books of a {@link DriverPool}: live blocks with size and stream, counters, the addresses freed last, and memory
 * that is free but that the driver has not got back.
 *
 * <p>A block is in no table while the driver takes it back, so that an address which comes again at once meets no old
 * entry. Whatever the driver throws, the block then becomes <em>unreturned</em>. It is counted as held, since the
 * driver holds it, and given back by the next {@link #returnAgain}, while no allocation is under way: the driver may
 * have taken it nevertheless, and may hand it out.
 *
 * <p>A block is <em>waiting</em> if a closed stream may still use it. It is given back by {@link #returnWaiting}, or by
 * the free itself if the end of the stream has become known meanwhile. Nothing waits for the stream, and allocations go
 * on: the driver, which was not called, cannot hand the block out.
 *
 * <p>Nothing is lost if the Java heap or the stack ends: a caller makes room before the driver is called, for as many
 * blocks as there are calls under way, and has touched its stack.
 *
 * <p>Safe for use by several threads: one short lock, inside which the driver is not called.
 */
// One class, since its tables change together, under one lock.
final class PoolBlocks {
    private static final int RECENT = 64;

    private final MemoryInfo info;
    private final BlockTable live = new BlockTable(false);
    private final BlockTable unreturned = new BlockTable(true);
    private final BlockTable waiting = new BlockTable(false);
    private final ReturnsUnderWay leaving = new ReturnsUnderWay();
    private final BlockCounters counters = new BlockCounters();
    private final ReturnGate gate = new ReturnGate();
    private final LogLimit logLimit = new LogLimit();

    /** The addresses freed last, to distinguish a double free from a foreign address. */
    private final long[] recentlyFreed = new long[RECENT];

    private int nextRecent;
    private long peakBytesHeld;
    private long numShrinkages;

    /** Gives a block back to the driver. */
    @FunctionalInterface
    interface Return {
        /**
         * Gives a block back. If it throws anything, the block counts as not taken, until the driver hands its memory
         * out again.
         *
         * @param stream the stream that the block was allocated on, {@code null} for none
         * @return false if the block cannot go back now, as work that uses it may be queued
         */
        boolean giveBack(long address, @Nullable CudaSyncStream stream);
    }

    PoolBlocks(MemoryInfo info) {
        this.info = info;
        FailedReturn.prepare();
    }

    /** Begins an allocation; {@link #endAllocation} ends it, whatever happens. */
    void beginAllocation() {
        gate.enterAllocation();
    }

    void endAllocation() {
        gate.exitAllocation();
    }

    /**
     * Makes room for the blocks of all calls under way, so that none of them fails to enter its block.
     *
     * @param calls how many calls are under way, the caller's included
     */
    synchronized void ensureRoom(int calls) {
        live.ensureRoom(calls);
        ensureRoomToReturn(calls);
    }

    private void ensureRoomToReturn(int calls) {
        unreturned.ensureRoom(calls);
        waiting.ensureRoom(calls);
        leaving.ensureRoom(calls);
    }

    /** Enters a block that the driver has handed out, for which there is room. */
    synchronized void allocated(long address, long byteSize, @Nullable CudaSyncStream stream) {
        handedOut(address, byteSize);
        live.add(address, byteSize, stream);
        counters.allocated(byteSize, byteSize);
    }

    /** Forgets what the driver has taken back before it handed a block out, whatever it reports or reported then. */
    private void handedOut(long address, long byteSize) {
        unreturned.removeOverlapping(address, byteSize);
        leaving.handedOut(address, byteSize);
    }

    /** Enters a block as {@link #allocated} does, as a reserve. */
    synchronized void reserved(long address, long byteSize) {
        allocated(address, byteSize, null);
        counters.reserved();
    }

    /** Returns the stream of a live block, {@code null} if it has none or there is no such block. */
    synchronized @Nullable CudaSyncStream liveStream(long address) {
        final int block = live.find(address);
        return block == BlockTable.NONE ? null : live.stream(block);
    }

    synchronized void failed() {
        counters.failed();
    }

    /**
     * Removes a live block and gives it back. If the driver fails, tries once more, since the failure may have been
     * that of earlier work. A block that a closed stream may still use waits for the end of the stream; this method
     * does not.
     *
     * @param calls how many calls are under way, the caller's included
     * @throws InvalidFreeException if no such block starts there; nothing changes
     * @throws DeviceException if {@code device} throws anything; the block is unreturned
     */
    void free(long address, int calls, Return device) {
        final long byteSize;
        final CudaSyncStream stream;
        synchronized (this) {
            ensureRoomToReturn(calls);
            final int block = live.find(address);
            if (block == BlockTable.NONE) {
                throw invalidFree(address);
            }
            byteSize = live.size(block);
            stream = live.stream(block);
            live.remove(block);
            counters.freed(byteSize, byteSize);
            recentlyFreed[nextRecent] = address;
            nextRecent = (nextRecent + 1) % RECENT;
        }
        try {
            giveBackOrAgain(address, byteSize, stream, calls, device);
        } catch (Throwable e) {
            CudaLog.left(logLimit, info, address, e);
            throw FailedReturn.of(e);
        }
    }

    private void giveBackOrAgain(
            long address, long byteSize, @Nullable CudaSyncStream stream, int calls, Return device) {
        try {
            if (!giveBack(address, byteSize, stream, waiting, device)) {
                // The stream may have ended before the block was entered, and then returnWaiting has not met it.
                returnWaiting(address, calls, device);
            }
        } catch (CudaException first) {
            boolean isReturned = false;
            try {
                isReturned = returnAgain(address, calls, device);
            } catch (Throwable second) {
                DriverCalls.suppress(first, second);
            }
            if (!isReturned) {
                throw first;
            }
        }
    }

    private InvalidFreeException invalidFree(long address) {
        final long start = live.startOf(address);
        if (start != 0) {
            return new InteriorAddressException(
                    address,
                    "it lies " + (address - start) + " bytes inside the block at 0x" + Long.toHexString(start));
        }
        return unreturned.find(address) != BlockTable.NONE
                        || waiting.find(address) != BlockTable.NONE
                        || isRecentlyFreed(address)
                ? new DoubleFreeException(address, "it was freed already")
                : new ForeignAddressException(address, "it is not a live block of " + info);
    }

    private boolean isRecentlyFreed(long address) {
        return Arrays.stream(recentlyFreed).anyMatch(freed -> freed == address);
    }

    /** Gives a block that is in no table back to the driver; it is unreturned if that fails. There is room. */
    void giveBack(long address, long byteSize, @Nullable CudaSyncStream stream, Return device) {
        giveBack(address, byteSize, stream, unreturned, device);
    }

    /**
     * Gives a block that is in no table back to the driver; it is unreturned if that fails. There is room.
     *
     * @param later where the block is entered if it cannot go back now
     * @return false if it cannot
     */
    private boolean giveBack(
            long address, long byteSize, @Nullable CudaSyncStream stream, BlockTable later, Return device) {
        final long number = beginReturn(address, byteSize);
        boolean hasThrown = true;
        boolean isReturned = false;
        try {
            isReturned = device.giveBack(address, stream);
            hasThrown = false;
        } finally {
            endReturn(number, isReturned ? null : hasThrown ? unreturned : later, address, byteSize, stream);
        }
        return isReturned;
    }

    private synchronized long beginReturn(long address, long byteSize) {
        handedOut(address, byteSize); // no allocation has entered a block that is rolled back
        return leaving.begin(address, byteSize);
    }

    /** Enters a block in a table, if any, unless another thread has got its memory from the driver meanwhile. */
    private synchronized void endReturn(
            long number, @Nullable BlockTable table, long address, long byteSize, @Nullable CudaSyncStream stream) {
        if (leaving.end(address, number) && table != null) {
            table.add(address, byteSize, stream);
        }
    }

    /** Gives a block back that was never entered, since the call failed; what is thrown meanwhile is suppressed. */
    void rollBack(Throwable cause, long address, long byteSize, @Nullable CudaSyncStream stream, Return device) {
        try {
            giveBack(address, byteSize, stream, device);
        } catch (Throwable e) {
            CudaLog.left(logLimit, info, address, e);
            DriverCalls.suppress(cause, e);
        }
    }

    /**
     * Tries again to give back what is unreturned, and gives back what waits for a stream that has ended. All is tried;
     * the first failure is thrown at the end.
     */
    void returnAgain(int calls, Return device) {
        final DriverCalls.All all = new DriverCalls.All();
        returnAgain(unreturnedAddresses(), calls, device, all);
        all.attempt(() -> returnWaiting(calls, device));
        all.throwIfFailed();
    }

    /**
     * Gives back what waits for a stream that has ended, beside allocations. All is tried; the first failure is thrown
     * at the end.
     */
    void returnWaiting(int calls, Return device) {
        final DriverCalls.All all = new DriverCalls.All();
        for (long address : waitingAddresses()) {
            all.attempt(() -> returnWaiting(address, calls, device));
        }
        all.throwIfFailed();
    }

    /** Gives live, unreturned and waiting blocks back, at the end. All is tried; the first failure is thrown then. */
    void returnAll(Return device) {
        final long[] before = unreturnedAddresses();
        final DriverCalls.All all = new DriverCalls.All();
        for (long address : liveAddresses()) {
            all.attempt(() -> free(address, 1, device));
        }
        returnAgain(before, 1, device, all);
        for (long address : waitingAddresses()) {
            all.attempt(() -> giveBackFrom(waiting, address, 1, device));
        }
        all.throwIfFailed();
    }

    private void returnAgain(long[] addresses, int calls, Return device, DriverCalls.All all) {
        for (long address : addresses) {
            all.attempt(() -> returnAgain(address, calls, device));
        }
    }

    /**
     * Gives a block back if it is unreturned still, while no allocation is under way.
     *
     * @return false if it is unreturned, as it cannot go back now
     */
    private boolean returnAgain(long address, int calls, Return device) {
        gate.enterReturn();
        try {
            return giveBackFrom(unreturned, address, calls, device);
        } finally {
            gate.exitReturn();
        }
    }

    /** Gives a block back if it waits for a stream that has ended. */
    private void returnWaiting(long address, int calls, Return device) {
        if (isReady(address)) {
            giveBackFrom(waiting, address, calls, device);
        }
    }

    private synchronized boolean isReady(long address) {
        final int block = waiting.find(address);
        if (block == BlockTable.NONE) {
            return false;
        }
        final CudaSyncStream stream = waiting.stream(block);
        return stream == null || stream.hasEnded();
    }

    /** Gives a block of a table back, unless another thread has; returns false if it cannot go back now. */
    private boolean giveBackFrom(BlockTable table, long address, int calls, Return device) {
        final long byteSize;
        final CudaSyncStream stream;
        synchronized (this) {
            ensureRoomToReturn(calls);
            final int block = table.find(address);
            if (block == BlockTable.NONE) {
                return true;
            }
            byteSize = table.size(block);
            stream = table.stream(block);
            table.remove(block);
        }
        return giveBack(address, byteSize, stream, table, device);
    }

    private synchronized long[] unreturnedAddresses() {
        return unreturned.all();
    }

    private synchronized long[] waitingAddresses() {
        return waiting.all();
    }

    private synchronized long[] liveAddresses() {
        return live.all();
    }

    /** Lists live, waiting and unreturned blocks. */
    AllocatorSnapshot inspect() {
        final BlockTable liveCopy;
        final BlockTable waitingCopy;
        final BlockTable unreturnedCopy;
        synchronized (this) {
            liveCopy = live.copy();
            waitingCopy = waiting.copy();
            unreturnedCopy = unreturned.copy();
        }
        final List<Chunk> blocks = new ArrayList<>();
        liveCopy.addTo(blocks, State.LIVE);
        waitingCopy.addTo(blocks, State.WAITING);
        unreturnedCopy.addTo(blocks, State.UNRETURNED);
        blocks.sort(Comparator.comparing(Chunk::address, Long::compareUnsigned));
        return new AllocatorSnapshot(List.of(), blocks);
    }

    synchronized long bytesInUse() {
        return counters.bytesInUse();
    }

    /** Raises the peak of bytes held. */
    synchronized void held(long byteSize) {
        peakBytesHeld = Math.max(peakBytesHeld, byteSize);
    }

    /** Counts a shrink. */
    synchronized void shrunk() {
        numShrinkages++;
    }

    /**
     * Returns the statistics at this moment. The driver does not report how its free memory is divided and how often it
     * took memory, so that the largest free chunk and the extensions are not maintained; shrinkages are shrinks.
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
                .free(held - inUse, 0)
                .regions(0, numShrinkages)
                .build();
    }
}
