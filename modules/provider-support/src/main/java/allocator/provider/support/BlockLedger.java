package allocator.provider.support;

import allocator.provider.support.budget.Budget;
import allocator.provider.support.event.AllocatorEvents;
import allocator.provider.support.internal.ChangeMark;
import allocator.provider.support.internal.Failures;
import allocator.provider.support.internal.LogLimit;
import allocator.provider.support.internal.LongTable;
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
import allocator.spi.OutOfMemoryException;
import allocator.spi.SyncStream;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.function.LongUnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * The books of an allocator that takes each block from its device: live blocks with their sizes, counters, and memory
 * that the device did not take back.
 *
 * <p><b>A free takes effect.</b> A block that is freed is dead, whatever the device says. Memory that the device did
 * not take back is <em>unreturned</em>: it counts as held, its refusal is logged and recorded as an event, and
 * {@link #returnAgain} and {@link #returnAll} offer it again. A block whose device cannot take it back yet, since work
 * may use it, <em>waits</em> in the same list.
 *
 * <p>A block is in no table while its device takes it back, so that an address which comes again at once meets no old
 * entry. The device may have taken memory although it failed: what it hands out, it had taken back. Unreturned memory
 * is therefore offered again only while no allocation is under way, and an allocation that begins then waits.
 *
 * <p>The room of an entry is made before the device is called, so that the end of the Java heap loses nothing. If the
 * thread's stack ends while tables change, later allocations are rejected.
 *
 * <p>Safe for use by several threads. The device is called without a lock of the ledger, by several threads at once. A
 * call that takes memory from the device must not call the ledger.
 *
 * @param <T> what a block may belong to, such as a stream
 */
public final class BlockLedger<T> {
    private static final Logger LOG = System.getLogger(BlockLedger.class.getName());

    /** The size of a block that waits is its value less this; that of unreturned memory is the value negated. */
    private static final long WAITING = Long.MIN_VALUE;

    private final MemoryInfo info;
    private final Return<T> device;

    /** Charged with the bytes held; {@code null} if another one charges for them. */
    private final @Nullable Budget budget;

    private final LongTable<T> blocks;
    private final BlockCounters counters = new BlockCounters();
    private final ChangeMark mark = new ChangeMark();
    private final LogLimit logLimit = new LogLimit();

    /** Device calls under way that may hand memory out. */
    private int arriving;

    /** Whether a thread offers unreturned memory again. */
    private boolean isReturning;

    private long bytesHeld;
    private long peakBytesHeld;

    /** The most that statistics have reported as held. */
    private long reportedPeak;

    private long failedReturns;

    /** What live blocks with one copy save. */
    private long sharedBytes;

    /** Bytes that are no longer saved, of blocks that are being freed: they are held, and not charged. */
    private long uncharged;

    /** Bytes that are unreturned or wait. Written under the lock. */
    private volatile long unreturnedBytes;

    /**
     * Gives memory back to a device.
     *
     * @param <T> what a block may belong to
     */
    @FunctionalInterface
    public interface Return<T> {
        /**
         * Gives memory back. If it throws anything, the memory counts as not taken, until the device hands it out.
         *
         * @param address first byte
         * @param byteSize the size that was requested, in bytes
         * @param owner what the block belongs to, {@code null} for nothing
         * @return false if the memory cannot go back now, as work may use it; the device was not called
         */
        boolean giveBack(long address, long byteSize, @Nullable T owner);
    }

    /**
     * {@return new, empty books of blocks that belong to nothing, which charge no budget}
     *
     * @param info the memory served, for messages
     * @param device gives memory back to the device
     */
    public static BlockLedger<Void> of(MemoryInfo info, Device device) {
        return of(info, device, null);
    }

    /**
     * Opens empty books of blocks that belong to nothing, for a provider: the {@linkplain Budget#ofMemory budget of the
     * device} is charged with what they hold, from before the device is asked until it has taken the memory back.
     *
     * @param info the memory served
     * @param device gives memory back to the device
     * @return the ledger
     */
    public static BlockLedger<Void> charging(MemoryInfo info, Device device) {
        return of(info, device, Budget.ofMemory(info));
    }

    private static BlockLedger<Void> of(MemoryInfo info, Device device, @Nullable Budget budget) {
        return new BlockLedger<>(
                info,
                (address, byteSize, owner) -> {
                    device.giveBack(address, byteSize);
                    return true;
                },
                budget,
                false);
    }

    /** A device that takes memory back at once. */
    @FunctionalInterface
    public interface Device {
        /**
         * Gives memory back. If it throws anything, the memory counts as not taken, until the device hands it out.
         *
         * @param address first byte
         * @param byteSize the size that was requested, in bytes
         */
        void giveBack(long address, long byteSize);
    }

    /**
     * Opens empty books, which charge no budget.
     *
     * @param info the memory served, for messages
     * @param device gives memory back to the device
     */
    public BlockLedger(MemoryInfo info, Return<T> device) {
        this(info, device, null, true);
    }

    private BlockLedger(MemoryInfo info, Return<T> device, @Nullable Budget budget, boolean hasOwners) {
        this.info = info;
        this.device = device;
        this.budget = budget;
        blocks = new LongTable<>(hasOwners);
    }

    /**
     * Takes a block from the device and enters it. If the device has no memory, or throws an exception, offers it what
     * is unreturned, and where it takes some of that back, asks once more.
     *
     * @param byteSize size in bytes, above zero
     * @param take takes memory of a size from the device and returns its address, where no live block starts; {@code 0}
     *     if the device has none
     * @return the address; {@code 0} if the device has no memory, which counts as a failed allocation
     * @throws OutOfMemoryError if the Java heap has no room for the entry; the device is not called
     * @throws OutOfMemoryException if the budget of the device rejects the request, which counts as a failed allocation
     */
    public long allocate(long byteSize, LongUnaryOperator take) {
        return allocate(byteSize, take, false);
    }

    /**
     * Takes a block from the device as a reserve and enters it, as {@link #allocate} does.
     *
     * @param byteSize size in bytes, above zero
     * @param take takes memory from the device
     * @return the address; {@code 0} if the device has no memory
     */
    public long reserve(long byteSize, LongUnaryOperator take) {
        return allocate(byteSize, take, true);
    }

    private long allocate(long byteSize, LongUnaryOperator take, boolean isReserve) {
        try {
            return counted(takeOrOfferFirst(byteSize, take, isReserve));
        } catch (OutOfMemoryException e) {
            failed();
            throw e;
        }
    }

    private long takeOrOfferFirst(long byteSize, LongUnaryOperator take, boolean isReserve) {
        try {
            final long address = takeOnce(byteSize, take, isReserve);
            if (address != 0 || returnAgain() == 0) {
                return address;
            }
        } catch (RuntimeException e) {
            if (returnAgain() == 0) {
                throw e;
            }
        }
        return takeOnce(byteSize, take, isReserve);
    }

    private long counted(long address) {
        if (address == 0) {
            failed();
        }
        return address;
    }

    private long takeOnce(long byteSize, LongUnaryOperator take, boolean isReserve) {
        if (budget != null) {
            budget.require(byteSize, info);
        }
        long address = 0;
        try {
            address = takeCharged(byteSize, take, isReserve);
        } finally {
            if (address == 0) {
                release(byteSize);
            }
        }
        return address;
    }

    private long takeCharged(long byteSize, LongUnaryOperator take, boolean isReserve) {
        begin();
        long address = 0;
        try {
            address = take.applyAsLong(byteSize);
        } finally {
            end(address, byteSize, null, isReserve);
        }
        return address;
    }

    private synchronized void release(long byteSize) {
        if (budget != null) {
            final long less = Math.min(uncharged, byteSize);
            uncharged -= less;
            budget.release(byteSize - less);
        }
    }

    /**
     * Counts blocks that have one copy once, in statistics and for the budget. Where a block leaves such a copy to
     * others, call it while the device takes the block back, which then counts as a block of its own.
     *
     * @param byteSize what live blocks with one copy save from now on
     */
    public synchronized void share(long byteSize) {
        final long more = byteSize - sharedBytes;
        mark.begin();
        sharedBytes = byteSize;
        counters.freed(more, more);
        bytesHeld -= more;
        if (more < 0) {
            uncharged -= more;
        } else {
            release(more);
        }
        mark.end();
    }

    /**
     * Begins an allocation: makes the room of its entry. Call {@link #end} afterwards, whatever happens. Waits while
     * unreturned memory is offered to the device again.
     *
     * @throws OutOfMemoryError if the Java heap has no room for an entry; nothing has begun
     * @throws IllegalStateException if an error ended an earlier change of these books halfway
     */
    public synchronized void begin() {
        mark.requireWhole("the allocator of " + info);
        awaitReturns();
        blocks.expect();
        arriving++;
    }

    private void awaitReturns() {
        boolean isInterrupted = false;
        while (isReturning) {
            try {
                wait();
            } catch (InterruptedException e) {
                isInterrupted = true;
            }
        }
        if (isInterrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /**
     * Ends an allocation and enters its block, if it has one. Takes nothing from the Java heap.
     *
     * @param address what the device handed out, where no live block starts; {@code 0} for nothing
     * @param byteSize its size in bytes
     * @param owner what the block belongs to, {@code null} for nothing
     * @param isReserve whether it counts as a reserve
     */
    public synchronized void end(long address, long byteSize, @Nullable T owner, boolean isReserve) {
        mark.begin();
        arriving--;
        if (address == 0) {
            blocks.expectNoMore();
        } else {
            forgetUnreturned(blocks.find(address));
            blocks.add(address, byteSize, owner);
            counters.allocated(byteSize, byteSize);
            bytesHeld += byteSize;
            peakBytesHeld = Math.max(peakBytesHeld, bytesHeld);
            if (isReserve) {
                counters.reserved();
            }
        }
        mark.end();
    }

    /** Forgets memory that the device has handed out again: it had taken it back. */
    @SuppressWarnings("NonAtomicVolatileUpdate") // written under the lock, read without it
    private void forgetUnreturned(int slot) {
        if (slot >= 0) {
            final long byteSize = sizeOf(blocks.value(slot));
            unreturnedBytes -= byteSize;
            bytesHeld -= byteSize;
            release(byteSize);
        }
    }

    private static long sizeOf(long value) {
        return value >= 0 ? value : isWaiting(value) ? value - WAITING : -value;
    }

    private static boolean isWaiting(long value) {
        return value < WAITING / 2;
    }

    /** Counts an allocation that failed for lack of memory. */
    public synchronized void failed() {
        counters.failed();
    }

    /**
     * Ends the life of a block and gives its memory back. If the device fails, it is asked once more at once, unless an
     * allocation is under way, since the failure may have been one of earlier work; otherwise the memory is unreturned.
     *
     * @param address what the allocation returned
     * @throws InvalidFreeException if no live block starts there; nothing changes, and the device is not called
     */
    public void free(long address) {
        free(address, null);
    }

    /**
     * Ends the life of a block as {@link #free(long)} does, and gives its memory back for another owner than that of
     * its allocation, such as the stream that orders the free.
     *
     * @param address what the allocation returned
     * @param newOwner what the block belongs to from now on; {@code null} for its present owner
     * @throws InvalidFreeException if no live block starts there; nothing changes, and the device is not called
     */
    public void free(long address, @Nullable T newOwner) {
        final long byteSize;
        final T owner;
        synchronized (this) {
            final int slot = blocks.find(address);
            if (slot < 0 || blocks.value(slot) < 0) {
                throw invalidFree(address, slot);
            }
            byteSize = blocks.value(slot);
            owner = newOwner == null ? blocks.attachment(slot) : newOwner;
            removeLive(slot, byteSize);
        }
        giveBackTwice(address, byteSize, owner);
    }

    private void removeLive(int slot, long byteSize) {
        mark.begin();
        blocks.removeForNow(slot);
        counters.freed(byteSize, byteSize);
        mark.end();
    }

    private InvalidFreeException invalidFree(long address, int slot) {
        if (slot >= 0) {
            return new DoubleFreeException(
                    address, "it was freed already, and " + info + " has not taken the memory back");
        }
        for (int other = 0; other < blocks.capacity(); other++) {
            final long start = blocks.address(other);
            final long byteSize = start == 0 ? 0 : blocks.value(other);
            if (byteSize > 0 && Long.compareUnsigned(address - start, byteSize) < 0) {
                return new InteriorAddressException(
                        address,
                        (address - start) + " bytes into the block of " + byteSize + " bytes at 0x"
                                + Long.toHexString(start) + " of " + info);
            }
        }
        return new ForeignAddressException(
                address, "not a live block of " + info + "; it was freed already, or is of another allocator");
    }

    private void giveBackTwice(long address, long byteSize, @Nullable T owner) {
        final Throwable failure = giveBack(address, byteSize, owner, device);
        if (unreturnedBytes == 0) {
            return;
        }
        if (isUnreturned(address)) {
            final boolean isAlone = beginReturning();
            try {
                offer(address, isAlone, device);
            } finally {
                endReturning(isAlone);
            }
        }
        if (failure != null && isUnreturned(address)) {
            report(address, byteSize, failure);
        }
    }

    private boolean isUnreturned(long address) {
        return unreturnedAt(address) != 0;
    }

    private synchronized long unreturnedAt(long address) {
        final int slot = blocks.find(address);
        return slot >= 0 && blocks.value(slot) < 0 ? sizeOf(blocks.value(slot)) : 0;
    }

    /** Gives memory back that is in no table, and whose entry has room; returns what the device threw. */
    private @Nullable Throwable giveBack(long address, long byteSize, @Nullable T owner, Return<T> to) {
        boolean isTaken = false;
        Throwable failure = null;
        try {
            isTaken = to.giveBack(address, byteSize, owner);
        } catch (Throwable e) {
            failure = e;
        }
        settle(address, byteSize, owner, isTaken, failure == null);
        return failure;
    }

    @SuppressWarnings("NonAtomicVolatileUpdate") // written under the lock, read without it
    private synchronized void settle(
            long address, long byteSize, @Nullable T owner, boolean isTaken, boolean isWaiting) {
        mark.begin();
        if (isTaken || blocks.find(address) >= 0) { // in the second case it was taken, and handed out again
            blocks.expectNoMore();
            bytesHeld -= byteSize;
            release(byteSize);
        } else {
            blocks.add(address, isWaiting ? byteSize + WAITING : -byteSize, owner);
            unreturnedBytes += byteSize;
        }
        mark.end();
    }

    private void report(long address, long byteSize, Throwable failure) {
        synchronized (this) {
            failedReturns++;
        }
        try {
            AllocatorEvents.unreturned(info, address, byteSize, failure);
            final long number = logLimit.next();
            if (number != 0) {
                LOG.log(
                        Level.WARNING,
                        "{0}: the device did not take back {1} bytes at 0x{2}, they stay held: {3}{4}",
                        info,
                        Long.toString(byteSize),
                        Long.toHexString(address),
                        Failures.describe(failure),
                        LogLimit.suffix(number));
            }
        } catch (Throwable e) {
            // The memory is in the books, which is what counts.
        }
    }

    /**
     * Ends an allocation without a block, in place of {@link #end}, and gives back what was taken for it.
     *
     * @param address what the device handed out
     * @param byteSize its size in bytes
     * @param owner what the block would have belonged to, {@code null} for nothing
     */
    public void rollBack(long address, long byteSize, @Nullable T owner) {
        synchronized (this) {
            mark.begin();
            arriving--;
            bytesHeld += byteSize;
            mark.end();
        }
        final Throwable failure = giveBack(address, byteSize, owner, device);
        if (failure != null) {
            report(address, byteSize, failure);
        }
    }

    /**
     * Offers to the device again what it did not take back, and what waited, as {@link UnreturnedMemory#returnAgain}
     * has it: unreturned memory only while no allocation is under way, what waits in any case.
     *
     * @return the bytes that the device has taken back
     */
    public long returnAgain() {
        if (unreturnedBytes == 0) {
            return 0;
        }
        long returned = 0;
        final long[] addresses = unreturnedAddresses();
        final boolean isAlone = beginReturning();
        try {
            for (final long address : addresses) {
                final long byteSize = unreturnedAt(address);
                offer(address, isAlone, device);
                returned += byteSize - unreturnedAt(address);
            }
        } finally {
            endReturning(isAlone);
        }
        return returned;
    }

    private synchronized boolean beginReturning() {
        if (isReturning || arriving > 0) {
            return false;
        }
        isReturning = true;
        return true;
    }

    private synchronized void endReturning(boolean isAlone) {
        if (isAlone) {
            isReturning = false;
            notifyAll();
        }
    }

    /** Offers memory again that is in the books and not live; returns what the device threw. */
    @SuppressWarnings("NonAtomicVolatileUpdate") // written under the lock, read without it
    private @Nullable Throwable offer(long address, boolean isAlone, Return<T> to) {
        final long byteSize;
        final T owner;
        synchronized (this) {
            final int slot = blocks.find(address);
            final long value = slot < 0 ? 0 : blocks.value(slot);
            if (value >= 0 || !(isAlone || isWaiting(value))) {
                return null;
            }
            byteSize = sizeOf(value);
            owner = blocks.attachment(slot);
            mark.begin();
            blocks.removeForNow(slot);
            unreturnedBytes -= byteSize;
            mark.end();
        }
        return giveBack(address, byteSize, owner, to);
    }

    /** Returns where unreturned memory starts, without any that overlaps a live block: its device had taken it back. */
    private synchronized long[] unreturnedAddresses() {
        final long[] live = addresses(true);
        for (int i = 0; i < live.length; i++) {
            live[i] ^= Long.MIN_VALUE; // in the order of unsigned numbers
        }
        Arrays.sort(live);
        final long[] addresses = addresses(false);
        for (final long address : addresses) {
            final int slot = blocks.find(address);
            if (!isWaiting(blocks.value(slot)) && overlaps(live, address, sizeOf(blocks.value(slot)))) {
                forgetUnreturned(slot);
                blocks.remove(slot);
            }
        }
        return addresses;
    }

    private boolean overlaps(long[] live, long address, long byteSize) {
        final int next = -1 - Arrays.binarySearch(live, address ^ Long.MIN_VALUE);
        if (next < live.length && (live[next] ^ Long.MIN_VALUE) - address < byteSize) {
            return true;
        }
        final long before = next == 0 ? 0 : live[next - 1] ^ Long.MIN_VALUE;
        return next > 0 && address - before < blocks.value(blocks.find(before));
    }

    private long[] addresses(boolean isLive) {
        return Arrays.stream(blocks.addresses())
                .filter(address -> blocks.value(blocks.find(address)) > 0 == isLive)
                .toArray();
    }

    /**
     * Gives everything back, at the close, while no allocation is under way: live blocks, and memory that the device
     * did not take back. All is tried; what fails stays in the books, and another call tries it again.
     *
     * @param to gives memory back
     * @throws DeviceException if the device has not taken everything back; it names the bytes
     */
    public void returnAll(Return<T> to) {
        Throwable failure = null;
        final long[] addresses;
        synchronized (this) {
            addresses = blocks.addresses();
        }
        for (final long address : addresses) {
            final Throwable thrown = returnAtClose(address, to);
            failure = failure == null ? thrown : failure;
        }
        if (unreturnedBytes > 0) {
            throw notTakenBack(unreturnedBytes, failure);
        }
    }

    /**
     * {@return what a close throws if the device keeps memory; it names the bytes}
     *
     * @param byteSize how much, in bytes
     * @param cause what the device threw, if known
     */
    public DeviceException notTakenBack(long byteSize, @Nullable Throwable cause) {
        return new DeviceException(
                "the device has not taken back " + byteSize + " bytes of " + info + "; another close offers them again"
                        + (cause == null ? "" : ": " + Failures.messageOf(cause)),
                cause);
    }

    /** {@return the bytes held: those of live blocks, and what the device has not taken back} */
    public synchronized long bytesHeld() {
        return bytesHeld;
    }

    private @Nullable Throwable returnAtClose(long address, Return<T> to) {
        final long byteSize;
        final T owner;
        synchronized (this) {
            final int slot = blocks.find(address);
            if (slot < 0) {
                return null;
            }
            byteSize = blocks.value(slot);
            owner = blocks.attachment(slot);
            if (byteSize > 0) {
                removeLive(slot, byteSize);
            }
        }
        if (byteSize < 0) {
            return offer(address, true, to);
        }
        final Throwable failure = giveBack(address, byteSize, owner, to);
        if (failure != null) {
            report(address, byteSize, failure);
        }
        return failure;
    }

    /** Gives everything back, as {@link #returnAll(Return)} does, to the device of these books. */
    public void returnAll() {
        returnAll(device);
    }

    /**
     * {@return the size of a live block as it was requested, in bytes; {@code -1} if no live block starts there}
     *
     * @param address first byte
     */
    public synchronized long sizeOfLive(long address) {
        final int slot = blocks.find(address);
        return slot < 0 || blocks.value(slot) < 0 ? -1 : blocks.value(slot);
    }

    /**
     * {@return what a live block belongs to; {@code null} for nothing, or if no live block starts there}
     *
     * @param address first byte
     */
    public synchronized @Nullable T ownerOfLive(long address) {
        final int slot = blocks.find(address);
        return slot < 0 || blocks.value(slot) < 0 ? null : blocks.attachment(slot);
    }

    /** {@return the bytes that the device has not taken back: unreturned, or waiting} */
    public long unreturnedBytes() {
        return unreturnedBytes;
    }

    /** {@return whether nothing is live and the device has taken everything back} */
    public synchronized boolean isEmpty() {
        return bytesHeld == 0;
    }

    /**
     * Lists the memory in the books, for {@link allocator.spi.InspectableAllocator}. What is on its way back is not
     * listed. Calls no device.
     *
     * @return blocks without regions
     */
    public AllocatorSnapshot inspect() {
        final List<Chunk> chunks = new ArrayList<>();
        synchronized (this) {
            for (int slot = 0; slot < blocks.capacity(); slot++) {
                if (blocks.address(slot) != 0) {
                    chunks.add(chunk(slot));
                }
            }
        }
        chunks.sort(Comparator.comparing(Chunk::address, Long::compareUnsigned));
        return new AllocatorSnapshot(List.of(), chunks);
    }

    private Chunk chunk(int slot) {
        final long value = blocks.value(slot);
        final State state = value > 0 ? State.LIVE : isWaiting(value) ? State.WAITING : State.UNRETURNED;
        final long stream = blocks.attachment(slot) instanceof SyncStream owner ? owner.id() : 0;
        return new Chunk(blocks.address(slot), sizeOf(value), Math.max(0, value), state, stream);
    }

    /**
     * {@return the statistics at this moment} There is no limit, and free bytes are those on their way back or not
     * taken back. The counters {@code failedReturns} and {@code unreturnedBytes} are of a ledger's own.
     */
    public AllocatorStats stats() {
        return stats(AllocatorStats.UNLIMITED, -1, -1, 0);
    }

    /**
     * {@return the statistics of an allocator whose device counts what it holds} The number of extensions is not
     * maintained.
     *
     * @param limit the limit in bytes
     * @param held the bytes that the device reported a moment ago; negative to take those of these books
     * @param peak the most that it held
     * @param shrinkages how often memory was returned to the device
     */
    public synchronized AllocatorStats stats(long limit, long held, long peak, long shrinkages) {
        final long inUse = counters.bytesInUse();
        final long heldNow = held < 0 ? bytesHeld : Math.max(held, inUse); // what came since is held as well
        reportedPeak = Math.max(reportedPeak, Math.max(held < 0 ? peakBytesHeld : peak, heldNow));
        return counters.toStats()
                .limit(limit)
                .held(heldNow, reportedPeak)
                .free(heldNow - inUse, 0)
                .regions(0, shrinkages)
                .counter("failedReturns", failedReturns, AllocatorStats.Unit.COUNT, true)
                .counter("unreturnedBytes", unreturnedBytes, AllocatorStats.Unit.BYTES, false)
                .build();
    }

    /** {@return the bytes of live blocks} */
    public synchronized long bytesInUse() {
        return counters.bytesInUse();
    }
}
