package allocator.cuda.memory.check;

import allocator.cuda.driver.CudaDriver;
import allocator.cuda.memory.check.StreamOrder.Clock;
import allocator.cuda.memory.check.StreamOrder.Point;
import allocator.spi.OptionKey;
import allocator.spi.StreamHazardException;
import allocator.spi.StreamHazardException.Site;
import allocator.spi.StreamHazardException.Use;
import allocator.spi.SyncStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.WeakHashMap;
import org.jspecify.annotations.Nullable;

/**
 * Checks the uses of memory on the streams of one driver, for allocators with {@code arena.check_streams}.
 *
 * <p>It sees allocations, frees, copies, notifications and waits that pass through the provider, and the uses and
 * events of tracked memory. Of these it knows the order exactly, whatever the device has done already: a hazard is
 * found although the work happens to be done. It sees no work that is submitted to a native stream directly, and no
 * wait that is.
 *
 * <p>Safe for use by several threads, with one lock. While no allocator is checked, nothing is recorded.
 */
public final class StreamChecks {
    /** {@code arena.check_streams}. */
    public static final OptionKey<Boolean> KEY = OptionKey.flag(
            "arena.check_streams",
            false,
            "1: copies, tracked uses and frees that are not ordered after what they have to follow are rejected, with"
                    + " both call sites; for tests");

    /** Frees that are remembered. */
    private static final int MOST_FREED = 10_000;

    private static final Map<CudaDriver, StreamChecks> OF_DRIVERS = new WeakHashMap<>();

    /** The blocks of checked allocators by address, live and freed; no two overlap. */
    private final TreeMap<Long, CheckedBlock> blocks = new TreeMap<>();

    private final StreamOrder order = new StreamOrder();
    private int freedCount;

    /** Freed blocks whose memory goes back to the device when the host waits. */
    private int leavingCount;

    private volatile boolean isOn;

    private StreamChecks() {}

    /** A point in the work of a stream. */
    public static final class StreamPoint {
        private final StreamChecks checks;
        private final Point point;

        private StreamPoint(StreamChecks checks, Point point) {
            this.checks = checks;
            this.point = point;
        }

        /** {@return the checks of the stream} */
        public StreamChecks checks() {
            return checks;
        }
    }

    /**
     * {@return the one instance of the checks of a driver's streams}
     *
     * @param driver the driver
     */
    public static StreamChecks of(CudaDriver driver) {
        synchronized (OF_DRIVERS) {
            return OF_DRIVERS.computeIfAbsent(driver, key -> new StreamChecks());
        }
    }

    /** Starts to record. */
    public void start() {
        isOn = true;
    }

    /** {@return whether any allocator of the driver has been checked; if not, the other methods need not be called} */
    public boolean isOn() {
        return isOn;
    }

    /**
     * Returns the point that a stream has reached.
     *
     * @param stream the stream
     * @return the point behind all that was submitted to it so far; {@code null} if nothing is checked
     */
    public @Nullable StreamPoint point(SyncStream stream) {
        if (!isOn) {
            return null;
        }
        synchronized (this) {
            return new StreamPoint(this, order.point(stream));
        }
    }

    /**
     * A stream has been made to wait for a point.
     *
     * @param consumer the stream that waits
     * @param point the point; {@code null} does nothing
     */
    public void follow(SyncStream consumer, @Nullable StreamPoint point) {
        if (point != null) {
            synchronized (this) {
                order.follow(consumer, point.point);
            }
        }
    }

    /**
     * All work before a point is known to be done.
     *
     * @param point the point; {@code null} does nothing
     */
    public void done(@Nullable StreamPoint point) {
        if (point != null) {
            synchronized (this) {
                StreamOrder.hostFollows(point.point);
                forgetLeaving();
            }
        }
    }

    /** The host has waited for a stream or a device, by a call that no {@link #done point} is of. */
    public void hostWaited() {
        if (isOn) {
            synchronized (this) {
                forgetLeaving();
            }
        }
    }

    private void forgetLeaving() {
        if (leavingCount > 0) {
            blocks.values().removeIf(block -> block.isFreed() && block.owner.returnsOnWait);
            freedCount -= leavingCount;
            leavingCount = 0;
        }
    }

    /**
     * Records that a stream is closed, and that the host {@linkplain #done has waited} for its work.
     *
     * @param stream the stream
     */
    public void ended(SyncStream stream) {
        if (isOn) {
            synchronized (this) {
                order.end(stream);
            }
        }
    }

    /**
     * Checks and records a use of memory by work that is about to be submitted.
     *
     * @param operation its name
     * @param stream the stream of the work; {@code null} if the caller waits for it, and nothing is recorded
     * @param read the address and size that it reads; a size of 0 for nothing
     * @param written the address and size that it writes; a size of 0 for nothing
     * @return the use, which the caller closes; unless the work {@linkplain Submission#submitted was submitted} by
     *     then, the use is forgotten
     * @throws StreamHazardException if nothing orders it after a use that it has to follow; nothing is recorded
     */
    public Submission use(String operation, @Nullable SyncStream stream, Span read, Span written) {
        final Site site = new Site(operation, stream == null ? "the host" : stream.toString());
        synchronized (this) {
            final Clock clock = stream == null ? null : order.clock(stream);
            final List<CheckedBlock> readBlocks = overlapping(read.address, read.byteSize);
            final List<CheckedBlock> writtenBlocks = overlapping(written.address, written.byteSize);
            final Use reading = read.by(site);
            final Use writing = written.by(site);
            readBlocks.forEach(block -> block.requireReady(reading, false, clock));
            writtenBlocks.forEach(block -> block.requireReady(writing, true, clock));
            final Submission submission = new Submission(this);
            if (clock != null) {
                boolean isRecorded = false;
                try {
                    readBlocks.forEach(block -> submission.add(block, clock, false, reading));
                    writtenBlocks.forEach(block -> submission.add(block, clock, true, writing));
                    isRecorded = true;
                } finally {
                    if (!isRecorded) {
                        submission.close();
                    }
                }
            }
            return submission;
        }
    }

    /**
     * Part of memory.
     *
     * @param address first byte
     * @param byteSize number of bytes
     */
    public record Span(long address, long byteSize) {
        /** No memory. */
        public static final Span NONE = new Span(0, 0);

        private Use by(Site site) {
            return new Use(site, address, byteSize);
        }
    }

    private List<CheckedBlock> overlapping(long address, long byteSize) {
        final List<CheckedBlock> found = new ArrayList<>();
        if (byteSize > 0) {
            final Map.Entry<Long, CheckedBlock> before = blocks.lowerEntry(address);
            if (before != null && before.getValue().end() > address) {
                found.add(before.getValue());
            }
            found.addAll(blocks.subMap(address, address + byteSize).values());
        }
        return found;
    }

    /**
     * An allocator whose blocks are checked.
     *
     * @param allocator the allocator
     * @param device the name of its device, for messages
     * @param isOrderedByDevice whether the device decides which stream gets freed memory
     * @param returnsOnWait whether freed memory may go back to the device whenever the host waits for it
     */
    public record Owner(Object allocator, String device, boolean isOrderedByDevice, boolean returnsOnWait) {}

    /**
     * Records an allocation. What the device orders may be reused as soon as the device has seen that it is done
     * (T-03).
     *
     * @param owner the allocator
     * @param address the address of the block
     * @param byteSize its size
     * @param stream the stream of the allocation; {@code null} for none
     * @throws StreamHazardException if the memory may be in use still; the caller frees it
     */
    public void allocated(Owner owner, long address, long byteSize, @Nullable SyncStream stream) {
        final Use use =
                new Use(new Site("allocation", stream == null ? "no stream" : stream.toString()), address, byteSize);
        synchronized (this) {
            final Clock clock = stream == null ? null : order.clock(stream);
            final List<CheckedBlock> reused = overlapping(address, byteSize);
            if (!owner.isOrderedByDevice) {
                reused.forEach(block -> block.requireReusable(use, clock));
            }
            final CheckedBlock block = new CheckedBlock(owner, clock, use);
            reused.forEach(old -> cut(old, address, address + byteSize));
            blocks.put(address, block);
        }
    }

    /** Removes a block; of a freed one, what lies outside a span stays. */
    private void cut(CheckedBlock block, long from, long to) {
        remove(block);
        if (block.isFreed() && block.address < from) {
            addFreed(block.part(block.address, from));
        }
        if (block.isFreed() && to < block.end()) {
            addFreed(block.part(to, block.end()));
        }
    }

    private void remove(CheckedBlock block) {
        blocks.remove(block.address);
        if (block.isFreed()) {
            count(block, -1);
        }
    }

    private void addFreed(CheckedBlock block) {
        blocks.put(block.address, block);
        count(block, 1);
    }

    private void count(CheckedBlock freed, int change) {
        freedCount += change;
        if (freed.owner.returnsOnWait) {
            leavingCount += change;
        }
    }

    /**
     * Marks a block as freed.
     *
     * @param address the address of the block
     * @return false if it is not a live one, which the allocator reports
     * @throws StreamHazardException if work may use the block; it is not freed
     */
    public synchronized boolean beginFree(long address) {
        final CheckedBlock block = blocks.get(address);
        if (block == null || block.isFreed()) {
            return false;
        }
        final Site site = new Site("free", "the host");
        block.requireUnused(site);
        block.free(site);
        count(block, 1);
        return true;
    }

    /**
     * Undoes {@link #beginFree}: the allocator did not free the block.
     *
     * @param owner the allocator
     * @param address the address of the block
     */
    public synchronized void cancelFree(Owner owner, long address) {
        final CheckedBlock block = blocks.get(address);
        if (block != null && block.owner.equals(owner) && block.isFreed()) {
            count(block, -1);
            block.cancelFree();
        }
    }

    /** Ends {@link #beginFree}: the block is free. Forgets all freed ones if there are too many of them. */
    public synchronized void endFree() {
        if (freedCount > MOST_FREED) {
            blocks.values().removeIf(CheckedBlock::isFreed);
            freedCount = 0;
            leavingCount = 0;
        }
    }

    /**
     * Forgets the freed blocks of an allocator whose free memory has gone back to the device, or all its blocks at its
     * end.
     *
     * @param owner the allocator
     * @param isEnd whether it has ended
     */
    public synchronized void returned(Owner owner, boolean isEnd) {
        for (CheckedBlock block : List.copyOf(blocks.values())) {
            if (block.owner.equals(owner) && (isEnd || block.isFreed())) {
                remove(block);
            }
        }
    }

    /**
     * Forgets what was freed in memory that is about to go back to the driver: the driver may hand it out to others.
     *
     * @param address first byte
     * @param byteSize number of bytes
     */
    public void returned(long address, long byteSize) {
        if (isOn) {
            synchronized (this) {
                for (CheckedBlock block : overlapping(address, byteSize)) {
                    if (block.isFreed()) {
                        cut(block, address, address + byteSize);
                    }
                }
            }
        }
    }
}
