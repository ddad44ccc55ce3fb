package allocator.resource.tracked;

import allocator.provider.support.internal.BriefLock;
import allocator.resource.tracked.TrackedBlockException.Kind;
import allocator.spi.SyncStream;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A block of a {@link TrackedMemory}. Its identity is address and generation. A generation is never reused, so a block
 * and a later one at the same address are distinct.
 *
 * <p>State. A block has at most one last write and, for each stream, at most one last read after it: a later read of a
 * stream replaces its earlier ones, and a write replaces all reads, since it waited for them. A use is <em>open</em>
 * from its preparation until it is finished. While a write is open, no use on another stream can be prepared; while any
 * use is open, no write on another stream can.
 */
public final class TrackedBlock {
    private final TrackedMemory owner;
    private final long byteSize;
    private final long byteAlignment;
    private final long generation;
    private final String tag;

    /** Set before the block is published. */
    private long address;

    /** The next block of the pending ones; guarded by their list. */
    @Nullable
    TrackedBlock nextPending;

    /** Guards the fields below. Never held while the driver is called. */
    private final BriefLock lock = new BriefLock();

    private boolean isFreed;
    private @Nullable SharedEvent lastWrite;
    private final List<StreamUse> uses = new ArrayList<>(2);

    TrackedBlock(TrackedMemory owner, long byteSize, long byteAlignment, long generation, String tag) {
        this.owner = owner;
        this.byteSize = byteSize;
        this.byteAlignment = byteAlignment;
        this.generation = generation;
        this.tag = tag;
    }

    /** {@return the address of the block} */
    public long address() {
        return address;
    }

    /** {@return the requested size of the block in bytes} */
    public long byteSize() {
        return byteSize;
    }

    /**
     * {@return the generation, which distinguishes this block from all others at its address: above zero, rising in
     * order of allocation in this process}
     */
    public long generation() {
        return generation;
    }

    /** {@return the tag given at allocation} */
    public String tag() {
        return tag;
    }

    long byteAlignment() {
        return byteAlignment;
    }

    void requireOwner(TrackedMemory memory) {
        if (owner != memory) {
            throw new TrackedBlockException(Kind.FOREIGN, this + " belongs to " + owner + ", not to " + memory);
        }
    }

    /** Sets the address. Called before the block is published. */
    void at(long start) {
        address = start;
    }

    /** Sets the first write: the allocation itself. Called before the block is published. */
    void begin(SharedEvent allocation) {
        lastWrite = allocation;
    }

    /** Releases the event of an allocation that was undone. */
    void forgetAllocation() {
        final SharedEvent allocation = lastWrite;
        lastWrite = null;
        if (allocation != null) {
            TrackedMemory.release(allocation);
        }
    }

    /**
     * Makes the block stale that is not published: its memory goes back when the allocation is done.
     *
     * @param allocation a use of its stream, for which an event is recorded later if there is none
     */
    void discard(StreamUse allocation) {
        lock.lock();
        try {
            isFreed = true;
            if (lastWrite == null) {
                allocation.hasUseWithoutEvent = true;
                uses.add(allocation); // has room since the block was made
            }
        } finally {
            lock.unlock();
        }
    }

    boolean isFreed() {
        lock.lock();
        try {
            return isFreed;
        } finally {
            lock.unlock();
        }
    }

    /** Opens a use, as the last of all changes, and returns what it has to wait for. */
    Waits open(Access access, SyncStream stream) {
        lock.lock();
        try {
            requireLive();
            requireOrdered(access, stream);
            final StreamUse mine = use(stream);
            final Waits waits = isOrderedAfterAll(mine) ? Waits.NONE : waits(access, mine);
            mine.open(access);
            return waits;
        } finally {
            lock.unlock();
        }
    }

    /** The common case: no other stream has used the block since this stream last waited. */
    private boolean isOrderedAfterAll(StreamUse mine) {
        return uses.size() == 1 && !mustAwaitWrite(mine);
    }

    private boolean mustAwaitWrite(StreamUse mine) {
        return lastWrite != null && mine.awaitedWrite != lastWrite && !lastWrite.isOn(mine.stream);
    }

    /** Makes all room before it retains an event, since a retained event must be released. */
    private Waits waits(Access access, StreamUse mine) {
        final Waits waits = new Waits(new ArrayList<>(uses.size() + 1), new ArrayList<>(uses.size()));
        if (lastWrite != null && mustAwaitWrite(mine)) {
            waits.events().add(lastWrite);
        }
        for (StreamUse other : uses) {
            if (other != mine && access == Access.WRITE && other.lastRead != null) {
                waits.events().add(other.lastRead);
            }
            if (other != mine && other.hasUseWithoutEvent) {
                waits.streamsWithoutEvent().add(other.stream);
            }
        }
        for (int i = 0; i < waits.events().size(); i++) {
            waits.events().get(i).retain();
        }
        return waits;
    }

    private void requireLive() {
        if (isFreed) {
            throw new TrackedBlockException(Kind.STALE, this + " is already freed");
        }
    }

    private void requireOrdered(Access access, SyncStream stream) {
        for (StreamUse other : uses) {
            if (other.stream.id() != stream.id() && other.conflictsWith(access)) {
                final String use = (access == Access.WRITE ? "write" : "read") + " on " + stream;
                throw new TrackedBlockException(
                        Kind.MISORDERED,
                        this + " cannot be prepared for a " + use + openOn(other.stream),
                        null,
                        other.stream);
            }
        }
    }

    private static String openOn(SyncStream stream) {
        return " while a use on " + stream + " is prepared and not finished";
    }

    /** Returns the uses of a stream. Needs heap only if there are none yet. */
    private StreamUse use(SyncStream stream) {
        for (int i = 0; i < uses.size(); i++) {
            final StreamUse use = uses.get(i);
            if (use.stream.id() == stream.id()) {
                return use;
            }
        }
        final StreamUse use = new StreamUse(stream);
        uses.add(use);
        return use;
    }

    /** Notes that the waits of an open use are queued: its stream need not wait for the last write again. */
    void opened(SyncStream stream) {
        lock.lock();
        try {
            use(stream).awaitedWrite = lastWrite;
        } finally {
            lock.unlock();
        }
    }

    /** Closes an open use that was not submitted. */
    void cancel(Access access, SyncStream stream) {
        lock.lock();
        try {
            closeUse(access, stream);
        } finally {
            lock.unlock();
        }
    }

    private StreamUse closeUse(Access access, SyncStream stream) {
        final StreamUse mine = use(stream);
        if (!mine.close(access)) {
            throw new TrackedBlockException(
                    Kind.MISORDERED,
                    this + " was not prepared for a " + (access == Access.WRITE ? "write" : "read") + " on " + stream);
        }
        return mine;
    }

    /** Checks that a use is open, before an event is recorded for it. */
    void requireOpen(Access access, SyncStream stream) {
        lock.lock();
        try {
            requireLive();
            closeUse(access, stream).open(access);
        } finally {
            lock.unlock();
        }
    }

    /**
     * Closes an open use with the event recorded behind it, which this block then holds. If this method throws, the use
     * is open still and the event not held.
     */
    void finish(Access access, SyncStream stream, SharedEvent event) {
        final SharedEvent replaced;
        final List<SharedEvent> reads;
        lock.lock();
        try {
            final boolean mayDropReads = access == Access.WRITE && mayHaveReads();
            reads = mayDropReads ? new ArrayList<>(uses.size()) : List.of();
            final StreamUse mine = closeUse(access, stream);
            if (access == Access.READ) {
                replaced = mine.lastRead;
                mine.lastRead = event;
            } else {
                replaced = lastWrite;
                lastWrite = event;
                mine.hasUseWithoutEvent = false; // the event is behind it
                if (mayDropReads) {
                    forgetReads(mine, reads);
                }
            }
        } finally {
            lock.unlock();
        }
        if (replaced != null) {
            TrackedMemory.release(replaced);
        }
        TrackedMemory.release(reads);
    }

    private boolean mayHaveReads() {
        return uses.size() > 1 || (uses.size() == 1 && uses.getFirst().lastRead != null);
    }

    /** Returns whether this block holds an event. */
    boolean holds(SharedEvent event) {
        lock.lock();
        try {
            boolean isHeld = lastWrite == event;
            for (int i = 0; i < uses.size(); i++) {
                isHeld |= uses.get(i).lastRead == event;
            }
            return isHeld;
        } finally {
            lock.unlock();
        }
    }

    /** Drops all reads: a write follows them, and also the uses without an event. */
    private void forgetReads(StreamUse writer, List<SharedEvent> reads) {
        for (int i = uses.size() - 1; i >= 0; i--) {
            final StreamUse use = uses.get(i);
            if (use.lastRead != null) {
                reads.add(use.lastRead);
                use.lastRead = null;
            }
            if (use != writer && !use.isOpen()) {
                uses.remove(i);
            }
        }
    }

    /** Closes an open use that has no event: the next use has to wait for all work submitted to the stream. */
    void finishWithoutEvent(Access access, SyncStream stream) {
        lock.lock();
        try {
            closeUse(access, stream).hasUseWithoutEvent = true;
        } finally {
            lock.unlock();
        }
    }

    /** Makes the block stale. Its events are kept until they are done. */
    void free() {
        lock.lock();
        try {
            requireLive();
            for (int i = 0; i < uses.size(); i++) {
                final StreamUse use = uses.get(i);
                if (use.isOpen()) {
                    throw new TrackedBlockException(
                            Kind.MISORDERED, this + " cannot be freed" + openOn(use.stream), null, use.stream);
                }
            }
            isFreed = true;
        } finally {
            lock.unlock();
        }
    }

    /**
     * Returns whether all uses of a freed block are complete. Releases the events that are done, and records one now
     * for uses without an event. A use on a stream that has ended is complete. One caller at a time.
     */
    boolean isDone(StreamEvents events) {
        final SharedEvent write = lastWrite;
        if (write != null && write.isDone()) {
            lastWrite = null;
            write.release();
        }
        for (int i = uses.size() - 1; i >= 0; i--) {
            final StreamUse use = uses.get(i);
            if (use.hasUseWithoutEvent && !use.recordMissing(events)) {
                continue;
            }
            final SharedEvent read = use.lastRead;
            if (read == null) {
                uses.remove(i);
            } else if (read.isDone()) {
                use.lastRead = null;
                uses.remove(i);
                read.release();
            }
        }
        return lastWrite == null && uses.isEmpty();
    }

    @Override
    public String toString() {
        return "block '" + tag + "' of " + byteSize + " bytes at 0x" + Long.toHexString(address) + ", generation "
                + generation;
    }
}
