package allocator.resource.tracked;

import allocator.resource.base.SpinLock;
import allocator.spi.SyncStream;
import java.util.ArrayList;
import java.util.Iterator;
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
    private final long address;
    private final long byteSize;
    private final long byteAlignment;
    private final long generation;
    private final String tag;

    /** Guards the fields below. Never held while the driver is called. */
    private final SpinLock lock = new SpinLock();

    private boolean isFreed;
    private @Nullable SharedEvent lastWrite;
    private final List<StreamUse> uses = new ArrayList<>(2);

    TrackedBlock(TrackedMemory owner, long address, long byteSize, long byteAlignment, long generation, String tag) {
        this.owner = owner;
        this.address = address;
        this.byteSize = byteSize;
        this.byteAlignment = byteAlignment;
        this.generation = generation;
        this.tag = tag;
    }

    /**
     * Returns the address of the block.
     *
     * @return the address
     */
    public long address() {
        return address;
    }

    /**
     * Returns the requested size of the block.
     *
     * @return the size in bytes
     */
    public long byteSize() {
        return byteSize;
    }

    /**
     * Returns the generation, which distinguishes this block from all others at its address.
     *
     * @return the generation, above zero, rising in order of allocation in this process
     */
    public long generation() {
        return generation;
    }

    /**
     * Returns the tag given at allocation.
     *
     * @return the tag
     */
    public String tag() {
        return tag;
    }

    long byteAlignment() {
        return byteAlignment;
    }

    void requireOwner(TrackedMemory memory) {
        if (owner != memory) {
            throw new ForeignBlockException(this + " belongs to " + owner + ", not to " + memory);
        }
    }

    /** Sets the first write: the allocation itself. Called before the block is published. */
    void begin(SharedEvent allocation) {
        lastWrite = allocation;
    }

    /**
     * What an open use has to wait for.
     *
     * @param events events to wait for, each retained for the caller
     * @param streamsWithoutEvent streams with uses that have no event: wait for all work submitted to them so far
     */
    record Waits(List<SharedEvent> events, List<SyncStream> streamsWithoutEvent) {
        static final Waits NONE = new Waits(List.of(), List.of());

        boolean isNone() {
            return events.isEmpty() && streamsWithoutEvent.isEmpty();
        }
    }

    /** Opens a use and returns what it has to wait for. */
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

    private Waits waits(Access access, StreamUse mine) {
        final Waits waits = new Waits(new ArrayList<>(uses.size() + 1), new ArrayList<>(0));
        if (lastWrite != null && mustAwaitWrite(mine)) {
            waits.events.add(lastWrite.retain());
        }
        for (StreamUse other : uses) {
            if (other != mine && access == Access.WRITE && other.lastRead != null) {
                waits.events.add(other.lastRead.retain());
            }
            if (other != mine && other.hasUseWithoutEvent) {
                waits.streamsWithoutEvent.add(other.stream);
            }
        }
        return waits;
    }

    private void requireLive() {
        if (isFreed) {
            throw new StaleBlockException(this + " is already freed");
        }
    }

    private void requireOrdered(Access access, SyncStream stream) {
        for (StreamUse other : uses) {
            if (other.stream.id() != stream.id() && other.conflictsWith(access)) {
                throw new MisorderedUseException(this + " cannot be prepared for a "
                        + (access == Access.WRITE ? "write" : "read") + " on " + stream + " while a use on "
                        + other.stream + " is prepared and not finished");
            }
        }
    }

    private StreamUse use(SyncStream stream) {
        for (StreamUse use : uses) {
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
            throw new MisorderedUseException(
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

    /** Closes an open use with the event recorded behind it, which this block then holds. */
    void finish(Access access, SyncStream stream, SharedEvent event) {
        final SharedEvent replaced;
        List<SharedEvent> replacedReads = List.of();
        lock.lock();
        try {
            final StreamUse mine = closeUse(access, stream);
            if (access == Access.READ) {
                replaced = mine.lastRead;
                mine.lastRead = event;
            } else {
                replaced = lastWrite;
                lastWrite = event;
                mine.hasUseWithoutEvent = false; // the event is behind it
                if (uses.size() > 1 || mine.lastRead != null) {
                    replacedReads = forgetReads(mine);
                }
            }
        } finally {
            lock.unlock();
        }
        if (replaced != null) {
            replaced.release();
        }
        replacedReads.forEach(SharedEvent::release);
    }

    /** Drops all reads: a write follows them, and also the uses without an event. */
    private List<SharedEvent> forgetReads(StreamUse writer) {
        final List<SharedEvent> reads = new ArrayList<>(uses.size());
        for (StreamUse use : uses) {
            if (use.lastRead != null) {
                reads.add(use.lastRead);
                use.lastRead = null;
            }
        }
        uses.removeIf(use -> use != writer && !use.isOpen());
        return reads;
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
            for (StreamUse use : uses) {
                if (use.isOpen()) {
                    throw new MisorderedUseException(
                            this + " cannot be freed while a use on " + use.stream + " is prepared and not finished");
                }
            }
            isFreed = true;
        } finally {
            lock.unlock();
        }
    }

    /**
     * Returns whether all uses of a freed block are complete. Releases the events that are done, and records one now
     * for uses without an event. One caller at a time.
     */
    boolean isDone(StreamEvents events) {
        if (lastWrite != null && lastWrite.isDone()) {
            lastWrite.release();
            lastWrite = null;
        }
        final Iterator<StreamUse> remaining = uses.iterator();
        while (remaining.hasNext()) {
            final StreamUse use = remaining.next();
            if (use.hasUseWithoutEvent) {
                recordMissing(use, events);
            }
            if (use.lastRead != null && use.lastRead.isDone()) {
                use.lastRead.release();
                use.lastRead = null;
            }
            if (use.lastRead == null) {
                remaining.remove();
            }
        }
        return lastWrite == null && uses.isEmpty();
    }

    /** Records an event behind all work submitted to a stream so far, in place of the missing ones. */
    private static void recordMissing(StreamUse use, StreamEvents events) {
        final SharedEvent all = SharedEvent.record(events, use.stream, 1);
        if (use.lastRead != null) {
            use.lastRead.release();
        }
        use.lastRead = all;
        use.hasUseWithoutEvent = false;
    }

    @Override
    public String toString() {
        return "block '" + tag + "' of " + byteSize + " bytes at 0x" + Long.toHexString(address) + ", generation "
                + generation;
    }
}
