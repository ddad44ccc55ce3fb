package allocator.resource.tracked;

import allocator.provider.support.budget.Budget;
import allocator.provider.support.budget.BudgetPressure;
import allocator.provider.support.internal.SameDevice;
import allocator.resource.MemoryContext;
import allocator.resource.MemoryResource;
import allocator.resource.StackOrderException;
import allocator.resource.StreamOrderedMemoryResource;
import allocator.resource.budget.BudgetResource;
import allocator.spi.DeviceException;
import allocator.spi.OutOfMemoryException;
import allocator.spi.SyncStream;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * Memory for work on several streams. It tracks which streams use a block, makes a stream wait for the uses it must
 * follow, and defers a free until the last use is complete.
 *
 * <p>Call {@link #prepare} before submitting work that uses a block, and {@link #finish} after it. {@link #launch} does
 * both for all blocks of one piece of work.
 *
 * <p>A freed block is <em>pending</em> until its uses are complete and {@link #reap} finds that out; reaping polls
 * events and never waits. Only then does memory return to the upstream, and only after that is the budget released, so
 * the budget bounds what is really allocated on the device. At every moment {@code live + pending} is what this memory
 * has charged to the budget.
 *
 * <p>An allocation that finds no room reaps too, and fails once nothing more is returned. An exception of that reap is
 * about other blocks: it is suppressed in the exception of an allocation that fails, and logged otherwise. If the
 * {@linkplain Budget#ofMemory budget of the device} rejects it still, what others hold of the device is shrunk: see
 * {@link BudgetPressure}.
 */
public final class TrackedMemory implements AutoCloseable {
    private static final AtomicLong LAST_GENERATION = new AtomicLong();

    private final MemoryResource upstream;
    private final StreamOrderedMemoryResource ordered;
    private final StreamEvents events;
    private final TrackedBytes bytes;
    private final PendingFrees pending;
    private final ReapingRequests requests;
    private final LiveTrackedBlocks live = new LiveTrackedBlocks();

    /** Whether the budget is in the tree of that of the memory's device. */
    private final boolean isOfDevice;

    /** Null unless uses are checked. */
    private final @Nullable CheckedUses checked;

    /**
     * Bytes of one memory at one moment. If nothing else charges the budget, {@code live + pending + available} is its
     * limit; the sums of several memories are in {@link Budget#status} of their budget.
     *
     * @param live bytes of blocks that are not freed
     * @param pending bytes of blocks that are freed and may still be in use
     * @param available bytes that an allocation could be granted
     */
    public record Status(long live, long pending, long available) {}

    /**
     * Creates a memory without blocks. Its uses are {@linkplain #checked checked} if the upstream has the setting
     * {@code arena.check_streams}.
     *
     * @param upstream where the memory comes from
     * @param events the events of its device's streams
     * @param budget the budget charged with live and pending bytes, through a child of this memory's own
     * @throws StackOrderException if the upstream is bound to a stream, already charges the same tree of budgets, or
     *     pads requests
     */
    public TrackedMemory(MemoryResource upstream, StreamEvents events, Budget budget) {
        this(upstream, events, budget, "1".equals(upstream.effectiveOptions().value("arena.check_streams")));
    }

    private TrackedMemory(MemoryResource upstream, StreamEvents events, Budget budget, boolean isChecked) {
        if (!upstream.context().equals(MemoryContext.ANY)) {
            throw new StackOrderException(upstream + " is bound to a stream; tracked memory serves several");
        }
        BudgetResource.requireChargeable(upstream, budget);
        this.upstream = upstream;
        this.ordered = StreamOrderedMemoryResource.of(upstream);
        this.events = events;
        this.bytes = new TrackedBytes(budget);
        this.isOfDevice = budget.isRelatedTo(Budget.ofMemory(upstream.memory()));
        this.pending = new PendingFrees(upstream, events, bytes);
        this.requests = new ReapingRequests(ordered, bytes, pending);
        checked = isChecked ? new CheckedUses(events) : null;
    }

    /**
     * Creates a memory without blocks that checks its uses: a {@link TrackedBlockException} has the call site of the
     * free or the use that it conflicts with as its cause, and uses are {@linkplain StreamEvents#check checked} against
     * those of the device that are not tracked. For tests.
     *
     * @param upstream as of the constructor
     * @param events as of the constructor
     * @param budget as of the constructor
     * @return the memory
     * @throws StackOrderException as the constructor
     */
    public static TrackedMemory checked(MemoryResource upstream, StreamEvents events, Budget budget) {
        return new TrackedMemory(upstream, events, budget, true);
    }

    /**
     * Allocates a block. Its first use may be on any stream; on another stream than {@code stream} it waits for the
     * allocation.
     *
     * @param byteSize size in bytes, above zero
     * @param stream the stream that orders the allocation
     * @param tag names the block in messages
     * @return the block
     * @throws IllegalArgumentException if the size is not above zero, or the stream is one of another device
     * @throws OutOfMemoryException if the budget or the upstream has no room even after reaping; what the reap threw is
     *     suppressed in it
     * @throws DeviceException if the driver fails for this block
     */
    public TrackedBlock allocate(long byteSize, SyncStream stream, String tag) {
        if (byteSize <= 0) {
            throw new IllegalArgumentException("byteSize is " + byteSize + ", a tracked block has at least 1");
        }
        SameDevice.require(stream, upstream.memory());
        final long byteAlignment = upstream.memory().byteAlignment();
        final TrackedBlock block =
                new TrackedBlock(this, byteSize, byteAlignment, LAST_GENERATION.incrementAndGet(), tag);
        final StreamUse use = new StreamUse(stream);
        try {
            return charged(block, use);
        } catch (OutOfMemoryException e) {
            if (!isOfDevice) {
                throw e;
            }
            BudgetPressure.again(
                    e, upstream.memory(), null, () -> charged(block, use).address());
            return block;
        }
    }

    private TrackedBlock charged(TrackedBlock block, StreamUse use) {
        final Exception reapFailure = requests.charge(block.byteSize());
        try {
            requests.allocate(block, use.stream, reapFailure);
            block.begin(record(use.stream, 1));
            publish(block);
            return block;
        } catch (Throwable e) {
            undo(block, use, e);
            throw e;
        }
    }

    private void publish(TrackedBlock block) {
        final TrackedBlock there = live.put(block);
        if (there != null) {
            throw new IllegalStateException(upstream + " returned the address of " + there + " again");
        }
    }

    /** Gives an allocation up that failed half way: its memory goes back in stream order, or else by a reap. */
    private void undo(TrackedBlock block, StreamUse use, Throwable failure) {
        if (block.address() == 0) {
            bytes.cancel(block.byteSize());
            return;
        }
        live.remove(block);
        boolean isReturned = false;
        try {
            ordered.deallocate(block.address(), block.byteSize(), block.byteAlignment(), use.stream);
            isReturned = true;
        } catch (RuntimeException e) {
            ReapingRequests.suppress(failure, e);
        } finally {
            if (isReturned) {
                bytes.cancel(block.byteSize());
                block.forgetAllocation();
            } else {
                block.discard(use);
                bytes.freed(block.byteSize());
                pending.add(block);
            }
        }
    }

    /** Records an event behind all work submitted to a stream so far, for a number of holders. */
    SharedEvent record(SyncStream stream, int holders) {
        return new SharedEvent(events, stream, holders);
    }

    /**
     * {@return the live block with an address and a generation}
     *
     * @param address its address
     * @param generation its generation
     * @throws TrackedBlockException if it is not live; the message names the block that is there now, if any
     */
    public TrackedBlock find(long address, long generation) {
        final TrackedBlock block = live.get(address);
        if (block == null || block.generation() != generation || block.isFreed()) {
            throw new TrackedBlockException(
                    TrackedBlockException.Kind.STALE,
                    "0x" + Long.toHexString(address) + " of generation " + generation + " is not live; there is "
                            + (block == null ? "nothing" : block.toString()));
        }
        return block;
    }

    /**
     * Makes a stream wait for the uses of a block that its next use must follow. Call it before the work is submitted.
     *
     * @param block the block
     * @param access how the work accesses it
     * @param stream the stream of the work
     * @throws TrackedBlockException if the block is freed, or belongs to another memory, or a use on another stream is
     *     open and nothing would order the two
     * @throws IllegalArgumentException if the stream is one of another device; the block is as before
     * @throws DeviceException if the driver fails; the block is as before
     * @throws IllegalStateException if a stream to wait for, or with, is closed and has not ended; the block is as
     *     before
     */
    public void prepare(TrackedBlock block, Access access, SyncStream stream) {
        block.requireOwner(this);
        SameDevice.require(stream, upstream.memory());
        final Waits waits = checked == null ? block.open(access, stream) : checked.open(block, access, stream);
        if (!waits.isNone()) {
            queue(waits, block, access, stream);
        }
        if (checked != null) {
            checked.prepared(block, access, stream);
        }
    }

    private void queue(Waits waits, TrackedBlock block, Access access, SyncStream stream) {
        boolean isPrepared = false;
        try {
            for (SharedEvent event : waits.events()) {
                event.await(stream);
            }
            for (SyncStream other : waits.streamsWithoutEvent()) {
                awaitAll(other, stream);
            }
            isPrepared = true;
        } finally {
            if (isPrepared) {
                block.opened(stream);
            } else {
                block.cancel(access, stream);
            }
            release(waits.events());
        }
    }

    /** Releases all, whatever is thrown. */
    static void release(List<SharedEvent> events) {
        for (int i = 0; i < events.size(); i++) {
            release(events.get(i));
        }
    }

    /** Releases an event, whatever is thrown. */
    static void release(SharedEvent event) {
        try {
            event.release();
        } catch (Throwable e) {
            // The event source has the event back, and reports the failure of its own work when it is closed.
        }
    }

    /** Makes a stream wait for all work submitted to another so far, which is done if that one has ended. */
    private void awaitAll(SyncStream before, SyncStream after) {
        if (before.hasEnded()) {
            return;
        }
        final SharedEvent all;
        try {
            all = record(before, 1);
        } catch (IllegalStateException e) {
            if (!before.hasEnded()) {
                throw e;
            }
            return;
        }
        try {
            all.await(after);
        } finally {
            release(all);
        }
    }

    /**
     * Records a use of a block, so that later uses follow it. Call it after the work is submitted.
     *
     * @param block the block
     * @param access the access it was prepared for
     * @param stream the stream of the work
     * @throws TrackedBlockException if no such use was prepared, or the block belongs to another memory
     * @throws DeviceException if the driver fails; the next use of the block then waits for all work submitted to the
     *     stream
     * @throws IllegalStateException if the stream is closed; the use is finished, and complete once the stream has
     *     ended
     */
    public void finish(TrackedBlock block, Access access, SyncStream stream) {
        block.requireOwner(this);
        block.requireOpen(access, stream);
        SharedEvent event = null;
        try {
            event = record(stream, 1);
            block.finish(access, stream, event);
        } catch (Throwable e) {
            abandon(block, access, stream, event);
            throw e;
        }
    }

    /** Finishes a use without an event. If the block has the event, the use is finished already. */
    static void abandon(TrackedBlock block, Access access, SyncStream stream, @Nullable SharedEvent event) {
        if (event == null || !block.holds(event)) {
            try {
                block.finishWithoutEvent(access, stream);
            } finally {
                if (event != null) {
                    release(event);
                }
            }
        }
    }

    /**
     * Starts a launch: one piece of work that uses several blocks.
     *
     * @param stream the stream of the work
     * @return the launch, to be prepared, then committed or closed
     */
    public TrackedLaunch launch(SyncStream stream) {
        return new TrackedLaunch(this, stream);
    }

    /**
     * Frees a block. It is stale at once; its memory is returned when its uses are complete. Never waits.
     *
     * @param block the block
     * @throws TrackedBlockException if it is already freed, or belongs to another memory, or a use is prepared and not
     *     finished; nothing changes
     */
    public void free(TrackedBlock block) {
        block.requireOwner(this);
        if (checked == null) {
            block.free();
        } else {
            checked.free(block);
        }
        bytes.freed(block.byteSize());
        pending.add(block);
        live.remove(block);
    }

    /**
     * Returns the memory of freed blocks whose uses are complete to the upstream. Polls events and never waits.
     *
     * @return number of bytes returned
     * @throws DeviceException if the driver fails for a block, which stays pending; the others are reaped
     */
    public long reap() {
        return pending.reap();
    }

    /** Reaps after a launch, whose blocks a failure is not about: it is logged. */
    void reapOthers() {
        requests.reapOthers();
    }

    /**
     * Reaps until no block is pending, or the time is over. An interrupt does not end the wait and stays pending.
     *
     * @param atMost the longest time to wait; without limit above 292 years, not at all if zero or negative
     * @return whether no block is pending
     * @throws DeviceException if the driver fails
     */
    public boolean reap(Duration atMost) {
        return pending.reap(atMost);
    }

    /** {@return live, pending and available bytes at this moment} */
    public Status status() {
        return bytes.status();
    }

    /**
     * Reaps, and checks that no block is left. It holds nothing else: live and pending blocks stay valid.
     *
     * @throws IllegalStateException if blocks are live or pending
     */
    @Override
    public void close() {
        reap();
        final Status status = status();
        if (status.live() + status.pending() > 0) {
            throw new IllegalStateException(
                    this + " has " + status.live() + " bytes live and " + status.pending() + " pending: " + live.all());
        }
    }

    @Override
    public String toString() {
        return "tracked memory over " + upstream;
    }
}
