package allocator.simulation.world;

import allocator.simulation.schedule.Failpoint;
import allocator.simulation.schedule.Scheduler;
import allocator.spi.DeviceException;
import allocator.spi.OutOfMemoryException;
import allocator.spi.SyncStream;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/** What every allocator must keep to, obviously: live blocks, and memory that a stream may still use. */
class Model {
    /** Begins the message of a device exception for which there was no room, nor for its cause. */
    private static final String WITHOUT_CAUSE = "the device has not taken back";

    /** A live block. */
    record Block(long address, long byteSize, SyncStream stream) {}

    /** Memory that was freed and that its stream may still use, up to a sync id. */
    private record Freed(long address, long byteSize, SyncStream stream, long stamp, long time) {
        boolean overlaps(long start, long end) {
            return address < end && start < address + byteSize;
        }
    }

    /** Counts the blocks freed in all programs: what matters is what came before what. */
    private static long clock;

    private final TreeMap<Long, Block> live = new TreeMap<>();
    private final List<Freed> freed = new ArrayList<>();

    /** Streams whose memory is being unbound, by id, and how often. */
    private final Map<Long, Integer> ending = new HashMap<>();

    /** Streams whose memory is unbound for good. */
    private final Set<SyncStream> closed = new HashSet<>();

    private long liveBytes;
    private long allocs;
    private AssertionError violation;
    private boolean expectsReturns;

    /** The streams whose flushes order memory as waits do; empty if they do not. */
    private Collection<SimulatedStream> flushed = List.of();

    /** Blocks whose free has not returned: a close may come before it. */
    private final Set<Block> leaving = new HashSet<>();

    static void require(boolean holds, String violation) {
        if (!holds) {
            throw new AssertionError(violation);
        }
    }

    /** Returns whether a failure is one of those that the simulation throws, or follows from one. */
    static boolean isSimulated(Throwable failure) {
        for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
            final String message = cause.getMessage();
            if (message != null
                    && (message.contains(Failpoint.MESSAGE)
                            || message.contains(SimulatedDevice.MESSAGE)
                            || (cause instanceof DeviceException && message.startsWith(WITHOUT_CAUSE)))) {
                return true;
            }
        }
        return false;
    }

    /** Returns whether a failure is the end of the heap in the product's own code. */
    static boolean isOfOwnCode(Throwable failure) {
        return failure.getMessage() != null && failure.getMessage().startsWith(Failpoint.MESSAGE);
    }

    /** Rethrows a failure unless the simulation threw it, or it follows from one that it threw. */
    static void requireSimulated(Throwable failure, boolean mayBeExhausted) {
        if (isSimulated(failure) || (mayBeExhausted && failure instanceof OutOfMemoryException)) {
            return;
        }
        throw new AssertionError("an operation throws " + failure, failure);
    }

    /** Makes a call that may fail only as the simulation has it. */
    static void attempt(Runnable call) {
        try {
            Scheduler.call(call);
        } catch (Throwable e) {
            requireSimulated(e, false);
        }
    }

    long liveBytes() {
        return liveBytes;
    }

    int liveBlocks() {
        return live.size();
    }

    long allocs() {
        return allocs;
    }

    /** Enters a block that was allocated on a stream, {@code null} for none. */
    void allocated(long address, long byteSize, SyncStream stream) {
        require(address != 0 && (address & 255) == 0, "the address 0x" + Long.toHexString(address) + " is not aligned");
        enter(new Block(address, byteSize, stream));
        for (final Freed range : freed) {
            if (range.overlaps(address, address + byteSize)) {
                requireOrdered(range, stream);
            }
        }
        allocs++;
    }

    /** Takes memory as free for all once a flush of one of these streams has waited for the work in it. */
    void acceptFlushesOf(Collection<SimulatedStream> streams) {
        flushed = streams;
    }

    private void requireOrdered(Freed range, SyncStream stream) {
        final boolean isOrdered = (stream != null && stream.lastWaitedSyncId(range.stream) > range.stamp)
                || (!flushed.isEmpty() && range.stream.hasEnded())
                || flushed.stream().anyMatch(each -> isDone(range, each));
        require(
                isOrdered,
                "memory that stream " + range.stream.id() + " may still use is given to "
                        + (stream == null ? "no stream" : "stream " + stream.id()));
    }

    private void enter(Block block) {
        requireNoneLive(block.address, block.byteSize);
        live.put(block.address, block);
        liveBytes += block.byteSize;
    }

    /** Sets whether memory may go back to the device under live blocks, as it does at a close. */
    void expectReturns(boolean isExpected) {
        expectsReturns = isExpected;
    }

    void requireNoneLive(long address, long byteSize) {
        if (expectsReturns) {
            return;
        }
        final Map.Entry<Long, Block> before = live.lowerEntry(address + byteSize);
        if (before != null && before.getKey() + before.getValue().byteSize > address) {
            violate("memory at 0x" + Long.toHexString(address) + " is live");
        }
    }

    /** Requires that no work uses memory that goes back to the device, as its stream has been waited for. */
    void requireNoneInUse(long address, long byteSize, Collection<SimulatedStream> streams) {
        for (final Freed range : freed) {
            if (range.overlaps(address, address + byteSize)
                    && !isUnbound(range.stream)
                    && !isLeaving(range)
                    && !range.stream.hasEnded()
                    && !(expectsReturns && isClosing(range.stream))
                    && streams.stream().noneMatch(stream -> isDone(range, stream))) {
                violate("memory that stream " + range.stream.id() + " may still use goes back to the device");
            }
        }
    }

    /** Returns whether a stream was flushed that frees a range or has waited for the one that does. */
    private static boolean isDone(Freed range, SimulatedStream stream) {
        return stream.isFlushedSince(range.time)
                && (stream.equals(range.stream) || stream.lastWaitedSyncId(range.stream) > range.stamp);
    }

    /** Returns whether a thread closes a stream: the close of an arena does not wait for that one. */
    private static boolean isClosing(SyncStream stream) {
        return stream instanceof SimulatedStream simulated && simulated.isClosing();
    }

    private boolean isLeaving(Freed range) {
        return leaving.stream().anyMatch(block -> range.overlaps(block.address, block.address + block.byteSize));
    }

    private boolean isUnbound(SyncStream stream) {
        return closed.contains(stream) || ending.containsKey(stream.id());
    }

    /** Fails. As the product may catch what a device or a provider throws, {@link #requireNoViolation} fails again. */
    void violate(String what) {
        if (violation == null) {
            violation = new AssertionError(what);
        }
        throw violation;
    }

    /** Returns the time, which passes when a block is freed. */
    static long now() {
        return clock;
    }

    /** Fails if there was a violation in a call by the product. */
    void requireNoViolation() {
        if (violation != null) {
            throw violation;
        }
    }

    /** Removes a block that is about to be freed, chosen by a number; {@code null} if there is none. */
    Block remove(int choice) {
        if (live.isEmpty()) {
            return null;
        }
        final List<Block> all = new ArrayList<>(live.values());
        final Block block = all.get(choice % all.size());
        removeFreed(block);
        return block;
    }

    /** Removes a block that is about to be freed, and whose stream may still use its memory. */
    void removeFreed(Block block) {
        remove(block);
        if (block.stream != null && !isUnbound(block.stream)) {
            leaving.add(block);
            clock++;
            freed.add(new Freed(block.address, block.byteSize, block.stream, block.stream.syncId(), clock));
        }
    }

    /** Removes a block that is about to be freed, and whose memory no stream still uses. */
    void remove(Block block) {
        require(live.remove(block.address) != null, "a block is freed twice at 0x" + Long.toHexString(block.address));
        liveBytes -= block.byteSize;
    }

    /** Returns whether a block is live. */
    boolean isLive(Block block) {
        return block.equals(live.get(block.address));
    }

    /** Returns the addresses of what was freed on one of several streams, and that it may still use. */
    List<Long> freedOn(Set<SyncStream> streams) {
        return freed.stream()
                .filter(range -> streams.contains(range.stream))
                .map(Freed::address)
                .toList();
    }

    /** Notes that a block that was to be freed is lost, as the arena is closed. */
    void forget(Block block) {
        forgetFreed(block.address, block.byteSize);
    }

    /** Notes that the free of a block has returned or failed. */
    void endFree(Block block) {
        leaving.remove(block);
    }

    /** Enters a block again, of which the free has failed. */
    void restore(Block block) {
        freed.removeIf(range -> range.address == block.address && range.stream.equals(block.stream));
        enter(block);
    }

    /** Returns the live blocks in the order of their addresses. */
    List<Block> all() {
        return List.copyOf(live.values());
    }

    /** Returns all blocks, and removes them. */
    List<Block> removeAll() {
        final List<Block> all = new ArrayList<>(live.values());
        live.clear();
        freed.clear();
        liveBytes = 0;
        return all;
    }

    /** Notes that the memory freed on a stream is about to be unbound: its work is done, and what it has waited for. */
    void beginEnd(SyncStream stream) {
        ending.merge(stream.id(), 1, Integer::sum);
        freed.removeIf(range -> stream.lastWaitedSyncId(range.stream) > range.stamp);
    }

    /** Ends {@link #beginEnd}. */
    void endEnd(SyncStream stream) {
        ending.computeIfPresent(stream.id(), (id, count) -> count == 1 ? null : count - 1);
    }

    /** Notes that the memory of a stream was unbound for good. */
    void closed(SyncStream stream) {
        closed.add(stream);
    }

    /** Forgets what was freed in memory that has gone back to the device. */
    void forgetFreed(long address, long byteSize) {
        freed.removeIf(range -> range.overlaps(address, address + byteSize));
    }
}
