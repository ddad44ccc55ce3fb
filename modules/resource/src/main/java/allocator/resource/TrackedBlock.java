package allocator.resource;

import allocator.spi.SyncStream;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Memory that knows the work which uses it. Its identity is address and generation: a generation is never used again,
 * so that a handle from before a free is told from a new block at the same address.
 *
 * <p>State. A block has at most one last write and, for each stream, at most one read since: a later read of a stream
 * stands for its earlier ones, and a write stands for all reads, since it waited for them. A use is <em>open</em> from
 * its preparation until it is finished. While a write is open no other stream's use can be prepared, and while another
 * stream's use is open no write can.
 */
public final class TrackedBlock {
    private final TrackedMemory owner;
    private final long address;
    private final long byteSize;
    private final long byteAlignment;
    private final long generation;
    private final String tag;

    /** Guards what follows; never held while a driver is called. */
    private final SpinLock lock = new SpinLock();

    private boolean isFreed;
    private @Nullable SharedEvent lastWrite;
    private final List<StreamUse> uses = new ArrayList<>(2);

    /** What one stream has done, or is about to do, with the block. */
    private static final class StreamUse {
        private final SyncStream stream;
        private @Nullable SharedEvent lastRead;

        /** The write that the stream has waited for. */
        private @Nullable SharedEvent awaitedWrite;

        private int openReads;
        private int openWrites;

        /** Whether a use left no event: only the stream itself knows when it is over. */
        private boolean hasLost;

        StreamUse(SyncStream stream) {
            this.stream = stream;
        }

        boolean isOpen() {
            return openReads + openWrites > 0;
        }
    }

    TrackedBlock(TrackedMemory owner, long address, long byteSize, long byteAlignment, long generation, String tag) {
        this.owner = owner;
        this.address = address;
        this.byteSize = byteSize;
        this.byteAlignment = byteAlignment;
        this.generation = generation;
        this.tag = tag;
    }

    /**
     * Where the block is.
     *
     * @return the address
     */
    public long address() {
        return address;
    }

    /**
     * How large the block is.
     *
     * @return the size that was asked for, in bytes
     */
    public long byteSize() {
        return byteSize;
    }

    /**
     * Which block this is among all that were ever at its address.
     *
     * @return the generation, above zero, rising in order of allocation in this process
     */
    public long generation() {
        return generation;
    }

    /**
     * Who allocated the block.
     *
     * @return the tag given then
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

    /** The block is written on a stream before anybody knows it: by the allocation itself. */
    void begin(SharedEvent allocation) {
        lastWrite = allocation;
    }

    /**
     * What an opened use has to wait for.
     *
     * @param events events to queue waits for, each retained for the caller
     * @param losers streams whose uses left no event, to wait for with all that they were given so far
     */
    record Waits(List<SharedEvent> events, List<SyncStream> losers) {
        static final Waits NONE = new Waits(List.of(), List.of());

        boolean isNone() {
            return events.isEmpty() && losers.isEmpty();
        }
    }

    /** Opens a use and tells what it has to wait for. */
    Waits open(Access access, SyncStream stream) {
        lock.lock();
        try {
            requireLive();
            requireOrdered(access, stream);
            final StreamUse mine = use(stream);
            final Waits waits = isOrderedAfterAll(mine) ? Waits.NONE : waits(access, mine);
            reopen(access, mine);
            return waits;
        } finally {
            lock.unlock();
        }
    }

    /** The common case: nobody else has used the block since this stream last waited. */
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
            if (other != mine && other.hasLost) {
                waits.losers.add(other.stream);
            }
        }
        return waits;
    }

    private void requireLive() {
        if (isFreed) {
            throw new StaleBlockException(this + " is freed already");
        }
    }

    private void requireOrdered(Access access, SyncStream stream) {
        for (StreamUse other : uses) {
            if (other.stream.id() != stream.id()
                    && (other.openWrites > 0 || (access == Access.WRITE && other.openReads > 0))) {
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

    /** The waits of an opened use are queued: its stream need not wait for the last write again. */
    void opened(SyncStream stream) {
        lock.lock();
        try {
            use(stream).awaitedWrite = lastWrite;
        } finally {
            lock.unlock();
        }
    }

    /** Takes an opened use back: nothing was given to the stream. */
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
        final int open = access == Access.WRITE ? mine.openWrites : mine.openReads;
        if (open == 0) {
            throw new MisorderedUseException(
                    this + " was not prepared for a " + (access == Access.WRITE ? "write" : "read") + " on " + stream);
        }
        if (access == Access.WRITE) {
            mine.openWrites--;
        } else {
            mine.openReads--;
        }
        return mine;
    }

    /** Refuses to finish what was not prepared, before an event is recorded for it. */
    void requireOpen(Access access, SyncStream stream) {
        lock.lock();
        try {
            requireLive();
            reopen(access, closeUse(access, stream));
        } finally {
            lock.unlock();
        }
    }

    private static void reopen(Access access, StreamUse use) {
        if (access == Access.WRITE) {
            use.openWrites++;
        } else {
            use.openReads++;
        }
    }

    /** Ends an opened use with the event behind it, which this block then holds. */
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
                mine.hasLost = false; // what was lost on this stream is before the event
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

    /** A write comes after all reads and after what was lost: neither is needed any more. */
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

    /** Ends an opened use that left no event: the next one has to wait for all that the stream was given. */
    void poison(Access access, SyncStream stream) {
        lock.lock();
        try {
            closeUse(access, stream).hasLost = true;
        } finally {
            lock.unlock();
        }
    }

    /** Makes the block stale. Its events stay until they are done. */
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
     * Whether a freed block's uses are all over; lets go of the events that are. For lost uses it records an event now.
     * One caller at a time.
     */
    boolean isDone(StreamEvents events) {
        if (lastWrite != null && lastWrite.isDone()) {
            lastWrite.release();
            lastWrite = null;
        }
        final Iterator<StreamUse> remaining = uses.iterator();
        while (remaining.hasNext()) {
            final StreamUse use = remaining.next();
            if (use.hasLost) {
                recover(use, events);
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

    /** An event of all that a stream was given so far stands for the uses that left none. */
    private static void recover(StreamUse use, StreamEvents events) {
        final SharedEvent all = SharedEvent.record(events, use.stream, 1);
        if (use.lastRead != null) {
            use.lastRead.release();
        }
        use.lastRead = all;
        use.hasLost = false;
    }

    @Override
    public String toString() {
        return "block '" + tag + "' of " + byteSize + " bytes at 0x" + Long.toHexString(address) + ", generation "
                + generation;
    }
}
