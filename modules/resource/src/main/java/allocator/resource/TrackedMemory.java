package allocator.resource;

import allocator.spi.DeviceException;
import allocator.spi.OutOfMemoryException;
import allocator.spi.SyncStream;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * Memory for work on several streams: each block knows who uses it, waits are put where they are needed, and a free
 * takes effect when the last use is over.
 *
 * <p>Around each use of a block by work on a stream stand {@link #prepare}, before the work is submitted, which lets
 * the stream wait for earlier uses as needed, and {@link #finish}, after it. {@link #launch} does both for all blocks
 * of one piece of work.
 *
 * <p>A freed block is <em>pending</em> until its uses are over and somebody notices: {@link #reap} asks the events and
 * never waits. An allocation that finds no room reaps by itself, and is refused once nothing came back. Memory goes
 * back to the upstream then and not earlier, and only then is the budget released, so that the budget bounds what the
 * device really has out. For every moment {@code live + pending == charge of the budget}.
 */
public final class TrackedMemory implements AutoCloseable {
    private static final AtomicLong LAST_GENERATION = new AtomicLong();

    /** How long a reap with a time sleeps between two looks. */
    private static final long LOOK_AGAIN_NANOS = 50_000;

    private final MemoryResource upstream;
    private final StreamOrderedMemoryResource ordered;
    private final StreamEvents events;
    private final Budget budget;
    private final ConcurrentMap<Long, TrackedBlock> live = new ConcurrentHashMap<>();
    private final ConcurrentLinkedQueue<TrackedBlock> pending = new ConcurrentLinkedQueue<>();

    /** Guards the counters, and that they change together with the budget. */
    private final SpinLock lock = new SpinLock();

    private long liveBytes;
    private long pendingBytes;

    /** All that ever went back. */
    private long returnedBytes;

    /**
     * Bytes at one moment. With a budget that nobody else charges, {@code live + pending + available} is its limit.
     *
     * @param live bytes of blocks that are not freed
     * @param pending bytes of blocks that are freed and may still be in use
     * @param available bytes that an allocation could have
     */
    public record Status(long live, long pending, long available) {}

    /**
     * Makes tracked memory.
     *
     * @param upstream where the memory comes from
     * @param events the events of its device's streams
     * @param budget what live and pending bytes are charged to
     * @throws StackOrderException if the upstream is bound to a stream, charges the same budget tree, or pads requests
     */
    public TrackedMemory(MemoryResource upstream, StreamEvents events, Budget budget) {
        if (!upstream.context().equals(MemoryContext.ANY)) {
            throw new StackOrderException(upstream + " is bound to a stream; tracked memory serves several");
        }
        BudgetResource.requireChargeable(upstream, budget);
        this.upstream = upstream;
        this.ordered = StreamOrderedMemoryResource.of(upstream);
        this.events = events;
        this.budget = budget;
    }

    /**
     * Allocates a block. Its first use may be on any stream; one on another stream than {@code stream} waits for the
     * allocation.
     *
     * @param byteSize size in bytes, above zero
     * @param stream the stream that orders the allocation
     * @param tag who allocates, for messages
     * @return the block
     * @throws IllegalArgumentException if the size is not above zero
     * @throws OutOfMemoryException if budget or upstream have no room even after what is over was reaped
     * @throws DeviceException if the driver fails
     */
    public TrackedBlock allocate(long byteSize, SyncStream stream, String tag) {
        if (byteSize <= 0) {
            throw new IllegalArgumentException("byteSize is " + byteSize + ", a tracked block has at least 1");
        }
        charge(byteSize);
        boolean isAllocated = false;
        long address = 0;
        final long byteAlignment = upstream.memory().byteAlignment();
        try {
            address = allocateReaping(byteSize, byteAlignment, stream);
            final SharedEvent ready = SharedEvent.record(events, stream, 1);
            final TrackedBlock block =
                    new TrackedBlock(this, address, byteSize, byteAlignment, LAST_GENERATION.incrementAndGet(), tag);
            block.begin(ready);
            final TrackedBlock there = live.putIfAbsent(address, block);
            if (there != null) {
                ready.release();
                throw new IllegalStateException(upstream + " handed out the address of " + there + " twice");
            }
            isAllocated = true;
            return block;
        } finally {
            if (!isAllocated) {
                undo(address, byteSize, byteAlignment, stream);
            }
        }
    }

    private void charge(long byteSize) {
        long returned = returnedBytes();
        Budget.Status refusal = tryCharge(byteSize);
        while (refusal != null && !budget.isAbove(byteSize) && hasReturnedMoreThan(returned)) {
            returned = returnedBytes();
            refusal = tryCharge(byteSize);
        }
        if (refusal != null) {
            final Status status = status();
            throw BudgetResource.refused(
                    upstream,
                    byteSize,
                    refusal,
                    status.live() + " bytes live, " + status.pending() + " pending, " + status.available()
                            + " available");
        }
    }

    private long returnedBytes() {
        lock.lock();
        final long returned = returnedBytes;
        lock.unlock();
        return returned;
    }

    /**
     * Reaps, and tells whether anything went back since, by this thread or another: only then is trying again worth it.
     */
    private boolean hasReturnedMoreThan(long returned) {
        reap();
        return returnedBytes() > returned;
    }

    private Budget.@Nullable Status tryCharge(long byteSize) {
        lock.lock();
        try {
            final Budget.Status refusal = budget.charge(byteSize);
            if (refusal == null) {
                liveBytes += byteSize;
            }
            return refusal;
        } finally {
            lock.unlock();
        }
    }

    private long allocateReaping(long byteSize, long byteAlignment, SyncStream stream) {
        while (true) {
            final long returned = returnedBytes();
            try {
                return ordered.allocate(byteSize, byteAlignment, stream);
            } catch (OutOfMemoryException e) {
                if (!hasReturnedMoreThan(returned)) {
                    throw e;
                }
            }
        }
    }

    private void undo(long address, long byteSize, long byteAlignment, SyncStream stream) {
        try {
            if (address != 0) {
                ordered.deallocate(address, byteSize, byteAlignment, stream);
            }
        } finally {
            lock.lock();
            liveBytes -= byteSize;
            budget.release(byteSize);
            lock.unlock();
        }
    }

    /**
     * Finds a block by its identity.
     *
     * @param address its address
     * @param generation its generation
     * @return the block
     * @throws StaleBlockException if it is not live; the message names the block that is there instead, if any
     */
    public TrackedBlock find(long address, long generation) {
        final TrackedBlock block = live.get(address);
        if (block == null || block.generation() != generation) {
            throw new StaleBlockException("0x" + Long.toHexString(address) + " of generation " + generation
                    + " is not live; there is " + (block == null ? "nothing" : block.toString()));
        }
        return block;
    }

    /**
     * Lets a stream wait for the uses of a block that the next one must come after. Call it before the work is
     * submitted.
     *
     * @param block the block
     * @param access what the work does with it
     * @param stream the stream of the work
     * @throws StaleBlockException if the block is freed
     * @throws ForeignBlockException if it is not of this memory
     * @throws MisorderedUseException if a use on another stream is open that nothing would order against this one
     * @throws DeviceException if the driver fails; the block is as before
     */
    public void prepare(TrackedBlock block, Access access, SyncStream stream) {
        block.requireOwner(this);
        final TrackedBlock.Waits waits = block.open(access, stream);
        if (!waits.isNone()) {
            queue(waits, block, access, stream);
        }
    }

    private void queue(TrackedBlock.Waits waits, TrackedBlock block, Access access, SyncStream stream) {
        boolean isPrepared = false;
        try {
            for (SharedEvent event : waits.events()) {
                event.await(stream);
            }
            for (SyncStream loser : waits.losers()) {
                awaitAll(loser, stream);
            }
            isPrepared = true;
        } finally {
            waits.events().forEach(SharedEvent::release);
            if (isPrepared) {
                block.opened(stream);
            } else {
                block.cancel(access, stream);
            }
        }
    }

    /** Lets a stream wait for all that another was given so far. */
    private void awaitAll(SyncStream before, SyncStream after) {
        final SharedEvent all = SharedEvent.record(events, before, 1);
        try {
            all.await(after);
        } finally {
            all.release();
        }
    }

    /**
     * Records a use of a block, so that later ones come after it. Call it after the work is submitted.
     *
     * @param block the block
     * @param access what it was prepared for
     * @param stream the stream of the work
     * @throws MisorderedUseException if no such use was prepared
     * @throws ForeignBlockException if the block is not of this memory
     * @throws DeviceException if the driver fails; the next use of the block then waits for all that the stream was
     *     given
     */
    public void finish(TrackedBlock block, Access access, SyncStream stream) {
        block.requireOwner(this);
        block.requireOpen(access, stream);
        final SharedEvent event;
        try {
            event = SharedEvent.record(events, stream, 1);
        } catch (DeviceException e) {
            block.poison(access, stream);
            throw e;
        }
        block.finish(access, stream, event);
    }

    private record Use(TrackedBlock block, Access access) {}

    /** One event for all; without it, all are poisoned. */
    private void finishAll(List<Use> uses, SyncStream stream) {
        final SharedEvent event;
        try {
            event = SharedEvent.record(events, stream, uses.size());
        } catch (DeviceException e) {
            uses.forEach(use -> use.block.poison(use.access, stream));
            throw e;
        }
        uses.forEach(use -> use.block.finish(use.access, stream, event));
    }

    /**
     * Frees a block. It is stale at once, and its memory goes back when its uses are over. Never waits.
     *
     * @param block the block
     * @throws StaleBlockException if it is freed already
     * @throws ForeignBlockException if it is not of this memory
     * @throws MisorderedUseException if a use is prepared and not finished; nothing changes then
     */
    public void free(TrackedBlock block) {
        block.requireOwner(this);
        block.free();
        live.remove(block.address(), block);
        lock.lock();
        liveBytes -= block.byteSize();
        pendingBytes += block.byteSize();
        lock.unlock();
        pending.add(block);
    }

    /**
     * Gives the memory of freed blocks back whose uses are over. Asks events and never waits.
     *
     * @return bytes given back
     * @throws DeviceException if the driver fails; what was given back so far is, the rest stays pending
     */
    public synchronized long reap() {
        long reaped = 0;
        for (int left = pending.size(); left > 0; left--) {
            final TrackedBlock block = pending.poll();
            if (block == null) {
                break;
            }
            boolean isDone = false;
            try {
                isDone = block.isDone(events);
            } finally {
                if (!isDone) {
                    pending.add(block);
                }
            }
            if (isDone) {
                giveBack(block);
                reaped += block.byteSize();
            }
        }
        return reaped;
    }

    private void giveBack(TrackedBlock block) {
        try {
            upstream.deallocate(block.address(), block.byteSize(), block.byteAlignment());
        } finally {
            lock.lock();
            pendingBytes -= block.byteSize();
            returnedBytes += block.byteSize();
            budget.release(block.byteSize());
            lock.unlock();
        }
    }

    /**
     * Waits until nothing is pending, or the time is over.
     *
     * @param atMost how long to wait
     * @return whether nothing is pending
     * @throws DeviceException if the driver fails
     */
    public boolean reap(Duration atMost) {
        final long start = System.nanoTime();
        reap();
        while (!pending.isEmpty() && System.nanoTime() - start < atMost.toNanos()) {
            LockSupport.parkNanos(LOOK_AGAIN_NANOS);
            reap();
        }
        return pending.isEmpty();
    }

    /**
     * The bytes at this moment.
     *
     * @return live, pending and available
     */
    public Status status() {
        lock.lock();
        try {
            return new Status(liveBytes, pendingBytes, budget.status().available());
        } finally {
            lock.unlock();
        }
    }

    /**
     * Begins to record the use of several blocks by one piece of work.
     *
     * @param stream the stream of the work
     * @return the launch, to be prepared, then committed or closed
     */
    public Launch launch(SyncStream stream) {
        return new Launch(stream);
    }

    /**
     * One piece of work and all blocks that it uses. Name the blocks, {@link #prepare}, submit the work,
     * {@link #commit}. A block that is named twice counts once, with its strongest access. For one thread.
     *
     * <p>Closing a prepared launch without commit means that the work may or may not have been submitted: the next use
     * of its blocks then waits for all that the stream was given. {@link #cancel} says that it was not.
     */
    public final class Launch implements AutoCloseable {
        private final SyncStream stream;
        private final List<Use> uses = new ArrayList<>();
        private boolean isPrepared;
        private boolean isOver;

        private Launch(SyncStream stream) {
            this.stream = stream;
        }

        /**
         * Names a block that the work uses.
         *
         * @param block the block
         * @param access what the work does with it
         * @return this
         * @throws ForeignBlockException if the block is not of this memory
         * @throws IllegalStateException if the launch is prepared already
         */
        public Launch uses(TrackedBlock block, Access access) {
            block.requireOwner(TrackedMemory.this);
            require(!isPrepared && !isOver, "blocks are named before a launch is prepared");
            for (int i = 0; i < uses.size(); i++) {
                if (uses.get(i).block == block) {
                    if (access == Access.WRITE) {
                        uses.set(i, new Use(block, access));
                    }
                    return this;
                }
            }
            uses.add(new Use(block, access));
            return this;
        }

        /**
         * Prepares all blocks, or none.
         *
         * @throws StaleBlockException if a block is freed
         * @throws MisorderedUseException if a use of a block is open on another stream
         * @throws DeviceException if the driver fails
         * @throws IllegalStateException if the launch is prepared already
         */
        public void prepare() {
            require(!isPrepared && !isOver, "a launch is prepared once");
            int prepared = 0;
            try {
                for (Use use : uses) {
                    TrackedMemory.this.prepare(use.block, use.access, stream);
                    prepared++;
                }
                isPrepared = true;
            } finally {
                if (!isPrepared) {
                    uses.subList(0, prepared).forEach(use -> use.block.cancel(use.access, stream));
                }
            }
        }

        /**
         * Records the use of all blocks with one event, after the work was submitted.
         *
         * @throws DeviceException if the driver fails; the next use of the blocks then waits for all that the stream
         *     was given
         * @throws IllegalStateException if the launch is not prepared, or over
         */
        public void commit() {
            require(isPrepared && !isOver, "a launch is committed once, after it was prepared");
            isOver = true;
            if (!uses.isEmpty()) {
                finishAll(uses, stream);
            }
        }

        /**
         * Takes the preparation back: the work was not submitted.
         *
         * @throws IllegalStateException if the launch is over
         */
        public void cancel() {
            require(!isOver, "a launch that is over cannot be cancelled");
            isOver = true;
            if (isPrepared) {
                uses.forEach(use -> use.block.cancel(use.access, stream));
            }
        }

        @Override
        public void close() {
            if (isPrepared && !isOver) {
                uses.forEach(use -> use.block.poison(use.access, stream));
            }
            isOver = true;
        }

        private static void require(boolean condition, String message) {
            if (!condition) {
                throw new IllegalStateException(message);
            }
        }
    }

    /**
     * Gives everything back whose uses are over. What is live or in use stays, and is its users' to have ended.
     *
     * @throws IllegalStateException if blocks are live or in use
     */
    @Override
    public void close() {
        reap();
        final Status status = status();
        if (status.live() + status.pending() > 0) {
            throw new IllegalStateException(this + " has " + status.live() + " bytes live and " + status.pending()
                    + " pending: " + live.values());
        }
    }

    @Override
    public String toString() {
        return "tracked memory over " + upstream;
    }
}
