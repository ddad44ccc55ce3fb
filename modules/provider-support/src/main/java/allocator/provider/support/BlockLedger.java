package allocator.provider.support;

import allocator.spi.AllocatorSnapshot;
import allocator.spi.AllocatorSnapshot.Chunk;
import allocator.spi.AllocatorSnapshot.State;
import allocator.spi.AllocatorStats;
import allocator.spi.DeviceException;
import allocator.spi.DoubleFreeException;
import allocator.spi.InvalidFreeException;
import allocator.spi.MemoryInfo;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.function.LongUnaryOperator;

/**
 * The books of an allocator that takes each block from its device: live blocks with their sizes, statistics, and memory
 * that the device did not take back. It makes the calls to the device, so that nothing is lost whatever fails on the
 * way: the device call with any exception or error, the Java heap, or the thread's stack.
 *
 * <p>A block is entered after the device has handed it out, for which room is made before; it is removed before the
 * device gets it back, so that an address which comes again at once meets no old entry. Memory that the device did not
 * take back stays held, and {@link #returnAgain} tries again. If the device hands such memory out again, it had taken
 * it back, whatever it threw: the memory is the new block's alone then, and counts once. So a second return is made
 * while no allocation is under way.
 *
 * <p>Safe for use by several threads. The device is called without a lock of the ledger, by several threads at once. A
 * call that takes memory from the device must not call the ledger.
 */
public final class BlockLedger {
    private final MemoryInfo info;
    private final LiveSizes live = new LiveSizes();
    private final LiveSizes unreturned = new LiveSizes();
    private final ReturnsUnderWay leaving = new ReturnsUnderWay();
    private final BlockCounters counters = new BlockCounters();
    private final ReturnGate gate = new ReturnGate();

    /** Device calls under way, which enter a block at their end. */
    private int arriving;

    /** Returns that failed so far. */
    private volatile long numFailed;

    private long bytesHeld;
    private long peakBytesHeld;

    /** A call to a device that gives memory back. */
    @FunctionalInterface
    public interface Return {
        /**
         * Gives memory back to the device. If it throws anything, the memory counts as not taken back, until the device
         * hands it out again.
         *
         * @param address first byte
         * @param byteSize the size that was requested, in bytes
         */
        void giveBack(long address, long byteSize);

        /**
         * Waits for whatever may still use the memory. Called before {@link #giveBack}, while allocations go on: during
         * a second return itself they wait. If it throws anything, the memory counts as not taken back. Does nothing
         * unless overridden.
         */
        default void awaitUsers() {}
    }

    /**
     * Opens empty books.
     *
     * @param info the memory served, for messages
     */
    public BlockLedger(MemoryInfo info) {
        this.info = info;
        FailedReturn.prepare();
    }

    /**
     * Takes a block from the device and enters it.
     *
     * @param byteSize size in bytes, above zero
     * @param device takes memory of a size from the device and returns its address, where no live block starts;
     *     {@code 0} if the device has none
     * @return the address; {@code 0} if the device has no memory, which counts as a failed allocation
     * @throws OutOfMemoryError if the Java heap has no room for the entry; the device is not called
     * @throws StackOverflowError if the thread's stack has little left; the device is not called
     */
    public long allocate(long byteSize, LongUnaryOperator device) {
        return allocate(byteSize, device, false);
    }

    /**
     * Takes a block from the device as a reserve and enters it, as {@link #allocate} does.
     *
     * @param byteSize size in bytes, above zero
     * @param device takes memory from the device
     * @return the address; {@code 0} if the device has no memory
     */
    public long reserve(long byteSize, LongUnaryOperator device) {
        return allocate(byteSize, device, true);
    }

    private long allocate(long byteSize, LongUnaryOperator device, boolean isReserve) {
        StackReserve.touch();
        gate.enterAllocation();
        try {
            return allocateInside(byteSize, device, isReserve);
        } finally {
            gate.exitAllocation();
        }
    }

    private long allocateInside(long byteSize, LongUnaryOperator device, boolean isReserve) {
        expect();
        long address = 0;
        boolean hasReturned = false;
        try {
            address = device.applyAsLong(byteSize);
            hasReturned = true;
        } finally {
            enter(address, byteSize, isReserve, hasReturned);
        }
        return address;
    }

    private synchronized void expect() {
        live.ensureRoom(arriving + 1);
        arriving++;
    }

    private synchronized void enter(long address, long byteSize, boolean isReserve, boolean hasReturned) {
        arriving--;
        if (address != 0) {
            // What the device hands out, it has taken back before, whatever it throws or threw then.
            bytesHeld -= unreturned.removeOverlapping(address, byteSize);
            bytesHeld -= leaving.handedOut(address, byteSize);
            live.put(address, byteSize);
            counters.allocated(byteSize, byteSize);
            bytesHeld += byteSize;
            peakBytesHeld = Math.max(peakBytesHeld, bytesHeld);
            if (isReserve) {
                counters.reserved();
            }
        } else if (hasReturned) {
            counters.failed();
        }
    }

    /** Counts an allocation for which the device call threw because it has no memory. */
    public synchronized void failed() {
        counters.failed();
    }

    /**
     * Removes a live block and gives it back to the device. After a {@link DeviceException} the block is dead, and
     * another free of its address is rejected: {@link #returnAgain} tries again.
     *
     * @param address what the allocation returned
     * @param device gives memory back
     * @throws DeviceException if that throws anything; the memory is held and not live
     * @throws InvalidFreeException if no live block starts there; nothing changes, and the device is not called
     * @throws OutOfMemoryError if the Java heap has no room; nothing changes, and the device is not called
     * @throws StackOverflowError if the thread's stack has little left; nothing changes, and the device is not called
     */
    public void free(long address, Return device) {
        StackReserve.touch();
        final long byteSize = removeLive(address);
        if (byteSize == LiveSizes.NONE) {
            throw invalidFree(address);
        }
        giveBackOrFail(address, byteSize, device, false);
    }

    private synchronized InvalidFreeException invalidFree(long address) {
        return unreturned.sizeOf(address) == LiveSizes.NONE
                ? InvalidFrees.diagnose(live, address, info)
                : new DoubleFreeException(
                        address, "it was freed already, and the device failed to take the memory back to " + info);
    }

    /**
     * Tries again to give memory back that the device did not take back, as {@link RetryableReturns#returnAgain} has
     * it.
     *
     * @param address what the allocation returned
     * @param device gives memory back
     * @return true if the device has taken the memory back now; false if no such memory starts there, in which case the
     *     device is not called
     * @throws DeviceException if {@code device} throws anything; the memory is held and not live
     * @throws OutOfMemoryError if the Java heap has no room; nothing changes, and the device is not called
     * @throws StackOverflowError if the thread's stack has little left; nothing changes, and the device is not called
     */
    public boolean returnAgain(long address, Return device) {
        StackReserve.touch();
        if (!isUnreturned(address)) {
            return false;
        }
        final long failedBefore = numFailed;
        awaitUsersOrFail(device);
        gate.enterReturn();
        try {
            final long byteSize = removeUnreturned(address);
            if (byteSize != LiveSizes.NONE) {
                // Otherwise it may be memory that was handed out again meanwhile, and has had other users.
                giveBackOrFail(address, byteSize, device, numFailed == failedBefore);
            }
            return byteSize != LiveSizes.NONE;
        } finally {
            gate.exitReturn();
        }
    }

    private static void awaitUsersOrFail(Return device) {
        try {
            device.awaitUsers();
        } catch (Throwable e) {
            throw FailedReturn.of(e);
        }
    }

    private synchronized boolean isUnreturned(long address) {
        return unreturned.sizeOf(address) != LiveSizes.NONE;
    }

    private void giveBackOrFail(long address, long byteSize, Return device, boolean isUnused) {
        try {
            giveBack(address, byteSize, device, isUnused);
        } catch (Throwable e) {
            throw FailedReturn.of(e);
        }
    }

    private void giveBack(long address, long byteSize, Return device, boolean isUnused) {
        final long number = numberOfReturn(address);
        boolean isReturned = false;
        try {
            if (!isUnused) {
                device.awaitUsers();
            }
            device.giveBack(address, byteSize);
            isReturned = true;
        } finally {
            left(address, byteSize, isReturned, number);
        }
    }

    /** Removes a block that is about to go back; returns {@link LiveSizes#NONE} if none starts there. */
    private synchronized long removeLive(long address) {
        live.ensureRoom(arriving); // there is room; makes the table smaller if few blocks are left
        final long byteSize = leave(live, address);
        if (byteSize != LiveSizes.NONE) {
            counters.freed(byteSize, byteSize);
        }
        return byteSize;
    }

    /** Removes memory that the device did not take back; returns {@link LiveSizes#NONE} if none starts there. */
    private synchronized long removeUnreturned(long address) {
        return leave(unreturned, address);
    }

    private long leave(LiveSizes from, long address) {
        leaving.ensureRoom(1);
        unreturned.ensureRoom(leaving.count() + 1);
        final long byteSize = from.remove(address);
        if (byteSize != LiveSizes.NONE) {
            leaving.begin(address, byteSize);
        }
        return byteSize;
    }

    private synchronized long numberOfReturn(long address) {
        return leaving.number(address);
    }

    /** Ends a call to the device. */
    @SuppressWarnings("NonAtomicVolatileUpdate") // written under the lock, read without it
    private synchronized void left(long address, long byteSize, boolean isReturned, long number) {
        if (!leaving.end(address, number)) {
            return;
        }
        if (isReturned) {
            bytesHeld -= byteSize;
        } else {
            unreturned.put(address, byteSize);
            numFailed++;
        }
    }

    /**
     * Gives everything back, at the close: live blocks first, then memory that the device did not take back. All is
     * tried; what fails stays in the books, and another call tries it again. A block that another thread frees
     * meanwhile is that thread's to return: if it is still on its way, {@link #isEmpty} returns false.
     *
     * @param device gives memory back; the first thing that it throws, this method throws at the end, with the others
     *     suppressed; what it throws for memory that it did not take back before, as a {@link DeviceException}
     */
    public void returnAll(Return device) {
        StackReserve.touch();
        final long[] blocks;
        final long[] left;
        synchronized (this) {
            blocks = live.addresses();
            left = unreturned.addresses();
        }
        final Failures failure = new Failures();
        returnAll(blocks, device, failure);
        returnAll(left, device, failure);
        failure.throwIfAny();
    }

    private void returnAll(long[] addresses, Return device, Failures failure) {
        for (final long address : addresses) {
            try {
                final long byteSize = removeLive(address);
                if (byteSize != LiveSizes.NONE) {
                    giveBack(address, byteSize, device, false);
                } else {
                    returnAgain(address, device);
                }
            } catch (Throwable e) {
                failure.add(e);
            }
        }
    }

    /**
     * Returns the size of a live block, or of memory that the device did not take back.
     *
     * @param address first byte
     * @return the size that was requested, in bytes; {@link LiveSizes#NONE} if no such memory starts there
     */
    public synchronized long sizeOf(long address) {
        final long byteSize = live.sizeOf(address);
        return byteSize == LiveSizes.NONE ? unreturned.sizeOf(address) : byteSize;
    }

    /**
     * Returns whether nothing is held.
     *
     * @return true if there are neither live blocks nor memory that the device did not take back, and no call to the
     *     device is under way: a block on its way back is held until the device has taken it
     */
    public synchronized boolean isEmpty() {
        return bytesHeld == 0 && arriving == 0 && leaving.count() == 0;
    }

    /** Returns the Java heap that the tables take, in bytes, approximately. */
    synchronized long heapBytes() {
        return live.heapBytes() + unreturned.heapBytes() + leaving.heapBytes();
    }

    /**
     * Lists the memory in the books, for {@link allocator.spi.InspectableAllocator}: live blocks, and memory that the
     * device did not take back. What is on its way back is not listed. Calls no device.
     *
     * @return blocks without regions
     */
    public AllocatorSnapshot inspect() {
        final long[][] liveCopy;
        final long[][] unreturnedCopy;
        synchronized (this) {
            liveCopy = live.copy();
            unreturnedCopy = unreturned.copy();
        }
        final List<Chunk> blocks = new ArrayList<>();
        add(blocks, liveCopy, State.LIVE);
        add(blocks, unreturnedCopy, State.UNRETURNED);
        blocks.sort(Comparator.comparing(Chunk::address, Long::compareUnsigned));
        return new AllocatorSnapshot(List.of(), blocks);
    }

    private static void add(List<Chunk> blocks, long[][] copy, State state) {
        for (int i = 0; i < copy[0].length; i++) {
            final long byteSize = copy[1][i];
            blocks.add(new Chunk(copy[0][i], byteSize, state == State.LIVE ? byteSize : 0, state, 0));
        }
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
