package allocator.runtime;

import allocator.runtime.AllocatorReport.Setting;
import allocator.runtime.AllocatorReport.Source;
import allocator.spi.Allocator;
import allocator.spi.AllocatorClosedException;
import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorStats;
import allocator.spi.DeviceException;
import allocator.spi.HostAccessibleAllocator;
import allocator.spi.InvalidSizeException;
import allocator.spi.MemoryInfo;
import allocator.spi.ShrinkableAllocator;
import allocator.spi.SpiLevel;
import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncStream;
import allocator.spi.UnsupportedMemoryException;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A provider's allocator in the hands of one owner, a session or the environment: ONNX Runtime's {@code IAllocator}.
 *
 * <p>It adds three things to the provider's own: operations are used only from the {@link SpiLevel} that brought them;
 * a provider that breaks the contract is named; and live blocks are counted, so that the provider is not released
 * before the last one is freed. Memory is freed through the allocator that it came from.
 *
 * <p>When the owner is closed, allocations throw {@link AllocatorClosedException}; {@link #free} works on, and the last
 * one releases the provider's allocator.
 */
public final class ManagedAllocator implements Allocator {
    /*
     * Life: OPEN -> CLOSED (no more allocations) -> DRAINING (may be released) -> RELEASED (the provider has it back).
     *
     * An allocation counts itself first and looks at the state afterwards; closing sets the state first and looks at the
     * count afterwards. So either the allocation sees the closing and undoes its count, or the closing sees the block.
     * A free uncounts after the provider is done with it. Whoever uncounts in state DRAINING looks whether it was the last.
     *
     * Costs over the provider's own: one uncontended atomic addition and one read of a volatile field for each operation;
     * no Java object.
     */
    private static final int OPEN = 0;
    private static final int CLOSED = 1;
    private static final int DRAINING = 2;
    private static final int RELEASED = 3;

    private final Allocator target;
    private final @Nullable StreamAwareAllocator streamAware;
    private final boolean canReserve;
    private final LiveBlocks blocks = new LiveBlocks();
    private volatile int state = OPEN;

    private final @Nullable HostAccessibleAllocator hostAccessible;
    private final @Nullable ManagedArena arena;
    private final int spiLevel;
    private final AllocatorReference reference;
    private final MemoryInfo info;
    private final String owner;
    private final Source source;
    private final AllocatorOptions requested;
    private final Runnable onReleased;

    /** Readers use the target outside the hot path; the writer moves the state to RELEASED. */
    private final ReentrantReadWriteLock releasing = new ReentrantReadWriteLock();

    /**
     * Takes a reference over.
     *
     * @param reference the reference, with this allocator as a user
     * @param target what is called: the reference's allocator or a decorated form of it
     * @param owner whose blocks are counted
     * @param source how the owner came to it
     * @param requested the settings that the owner wanted
     * @param onReleased is run after the release
     */
    ManagedAllocator(
            AllocatorReference reference,
            Allocator target,
            String owner,
            Source source,
            AllocatorOptions requested,
            Runnable onReleased) {
        this.reference = reference;
        this.target = target;
        this.owner = owner;
        this.source = source;
        this.requested = requested;
        this.onReleased = onReleased;
        info = target.info();
        spiLevel = target.spiLevel();
        canReserve = spiLevel >= SpiLevel.RESERVE;
        streamAware = target instanceof StreamAwareAllocator aware && spiLevel >= SpiLevel.STREAMS ? aware : null;
        hostAccessible = target instanceof HostAccessibleAllocator accessible ? accessible : null;
        arena = target instanceof ShrinkableAllocator shrinkable && spiLevel >= SpiLevel.SHRINK
                ? new ManagedArena(this, shrinkable)
                : null;
        reference.instance().add(blocks);
    }

    @Override
    public long alloc(long byteSize) {
        if (byteSize <= 0) {
            return withoutBytes(byteSize);
        }
        enter();
        final long address;
        try {
            address = target.alloc(byteSize);
        } catch (Throwable e) {
            throw failed("alloc", e);
        }
        return address != 0 ? address : refuseNull("alloc", byteSize);
    }

    /**
     * Allocates memory ordered on a stream where the allocator can, otherwise as {@link #alloc} does; see
     * {@link #isStreamAware}.
     *
     * @param byteSize size in bytes; {@code 0} yields the empty allocation
     * @param stream a stream of the same device
     * @return the address; {@code 0} if and only if {@code byteSize} is {@code 0}
     * @throws InvalidSizeException as {@link #alloc}
     * @throws allocator.spi.OutOfMemoryException as {@link #alloc}
     * @throws DeviceException as {@link #alloc}
     * @throws IllegalArgumentException if the allocator is stream-aware and {@code stream} belongs to another device
     * @throws IllegalStateException if the allocator is stream-aware and {@code stream} is closed
     * @throws AllocatorClosedException as {@link #alloc}
     */
    public long allocOnStream(long byteSize, SyncStream stream) {
        Objects.requireNonNull(stream, "stream");
        final StreamAwareAllocator aware = streamAware;
        if (aware == null || byteSize <= 0) {
            return alloc(byteSize);
        }
        enter();
        final long address;
        try {
            address = aware.allocOnStream(byteSize, stream);
        } catch (IllegalArgumentException | IllegalStateException e) {
            leave();
            throw e;
        } catch (Throwable e) {
            throw failed("allocOnStream", e);
        }
        return address != 0 ? address : refuseNull("allocOnStream", byteSize);
    }

    /**
     * Allocates memory that lives as long as the session, outside an arena's growth, if the allocator is of level
     * {@link SpiLevel#RESERVE} or more; otherwise as {@link #alloc}.
     */
    @Override
    public long reserve(long byteSize) {
        if (!canReserve || byteSize <= 0) {
            return alloc(byteSize);
        }
        enter();
        final long address;
        try {
            address = target.reserve(byteSize);
        } catch (Throwable e) {
            throw failed("reserve", e);
        }
        return address != 0 ? address : refuseNull("reserve", byteSize);
    }

    @Override
    public void free(long address) {
        if (address == 0) {
            return;
        }
        if (state == RELEASED) {
            throw closed();
        }
        try {
            target.free(address);
        } catch (Throwable e) {
            throw freeFailed(e);
        }
        leave();
    }

    private void enter() {
        blocks.begin();
        if (state != OPEN) {
            leave();
            throw closed();
        }
    }

    private void leave() {
        blocks.end();
        if (state == DRAINING) {
            try {
                settle();
            } catch (RuntimeException e) {
                Log.warning("release of " + this + " failed", e);
            }
        }
    }

    private RuntimeException failed(String operation, Throwable thrown) {
        leave();
        return ProviderCalls.translate(reference.provider(), operation, thrown);
    }

    /** A device failure leaves the block dead; after any other failure it is as alive as before. */
    private RuntimeException freeFailed(Throwable thrown) {
        if (thrown instanceof DeviceException) {
            leave();
        }
        return ProviderCalls.translate(reference.provider(), "free", thrown);
    }

    private long refuseNull(String operation, long byteSize) {
        leave();
        throw new ProviderException(
                reference.provider(), "returned address 0 from " + operation + "(" + byteSize + ")", null);
    }

    private long withoutBytes(long byteSize) {
        if (state != OPEN) {
            throw closed();
        }
        if (byteSize < 0) {
            throw InvalidSizeException.negative(byteSize);
        }
        return 0;
    }

    private AllocatorClosedException closed() {
        return new AllocatorClosedException(this + " is closed");
    }

    @Override
    public MemoryInfo info() {
        return info;
    }

    @Override
    public int spiLevel() {
        return spiLevel;
    }

    /**
     * The counters of the provider's allocator. Where several owners share an instance, they are the counters of all of
     * them; what this owner has live is {@link #liveBlocks}.
     *
     * @return the statistics; {@link AllocatorStats#NONE} below level {@link SpiLevel#STATISTICS}
     * @throws AllocatorClosedException if the owner is closed and its memory is back
     */
    @Override
    public AllocatorStats stats() {
        return spiLevel < SpiLevel.STATISTICS ? AllocatorStats.NONE : whileHeld("stats", target::stats);
    }

    @Override
    public AllocatorOptions effectiveOptions() {
        return whileHeld("effectiveOptions", target::effectiveOptions);
    }

    /**
     * Sees a live allocation as a memory segment.
     *
     * @param address what an allocation of this allocator returned
     * @param byteSize size in bytes, at most what was asked for when allocating
     * @return a segment of exactly {@code byteSize} bytes
     * @throws UnsupportedMemoryException if the host cannot reach this memory; see {@link #isHostAccessible}
     * @throws InvalidSizeException if {@code byteSize} is negative, or not zero for the empty allocation
     */
    public MemorySegment segment(long address, long byteSize) {
        final HostAccessibleAllocator accessible = hostAccessible;
        if (accessible == null) {
            throw new UnsupportedMemoryException(
                    info + " cannot be seen as a memory segment: the host cannot reach it");
        }
        if (state == RELEASED) {
            throw closed();
        }
        try {
            return accessible.segment(address, byteSize);
        } catch (Throwable e) {
            throw ProviderCalls.translate(reference.provider(), "segment", e);
        }
    }

    /**
     * Whether {@link #segment} works.
     *
     * @return whether the host can reach the memory
     */
    public boolean isHostAccessible() {
        return hostAccessible != null;
    }

    /**
     * Whether {@link #allocOnStream} orders memory on the stream.
     *
     * @return whether the provider's allocator does, at a level of {@link SpiLevel#STREAMS} or more
     */
    public boolean isStreamAware() {
        return streamAware != null;
    }

    /**
     * Whether the device itself decides when freed memory may go to another stream, although that one waited for
     * nothing.
     *
     * @return what the provider's allocator says; {@code false} unless {@link #isStreamAware}
     * @throws ProviderException if the provider's allocator fails to say it
     */
    public boolean isOrderedByDevice() {
        final StreamAwareAllocator aware = streamAware;
        return aware != null && ProviderCalls.call(reference.provider(), "isOrderedByDevice", aware::isOrderedByDevice);
    }

    /**
     * This allocator as an arena.
     *
     * @return the arena, if the provider's allocator can shrink and is of level {@link SpiLevel#SHRINK} or more
     */
    public Optional<ManagedArena> asArena() {
        return Optional.ofNullable(arena);
    }

    /**
     * Blocks that the owner has live.
     *
     * @return how many; exact while nobody allocates or frees
     */
    public long liveBlocks() {
        return Math.max(0, blocks.count());
    }

    /**
     * Whether two owners use one and the same instance of the provider.
     *
     * @param other an allocator of any owner
     * @return whether they share memory, limits and statistics
     */
    public boolean isSameInstanceAs(ManagedAllocator other) {
        return reference.instance().equals(other.reference.instance());
    }

    /**
     * Where this allocator comes from and which settings are in force on it.
     *
     * @return the report
     * @throws AllocatorClosedException if the owner is closed and its memory is back
     */
    public AllocatorReport report() {
        final List<Setting> settings = Settings.compare(reference.keys(), requested, effectiveOptions(), source);
        return new AllocatorReport(info, reference.provider(), owner, source, settings);
    }

    AllocatorReference reference() {
        return reference;
    }

    Source source() {
        return source;
    }

    AllocatorOptions requested() {
        return requested;
    }

    /** Asks the target something that needs it not to be released meanwhile. */
    <T> T whileHeld(String operation, Supplier<T> question) {
        releasing.readLock().lock();
        try {
            if (state == RELEASED) {
                throw closed();
            }
            return ProviderCalls.call(reference.provider(), operation, question);
        } finally {
            releasing.readLock().unlock();
        }
    }

    /** From here on nothing is allocated. */
    void refuseAllocations() {
        releasing.writeLock().lock();
        try {
            if (state == OPEN) {
                state = CLOSED;
            }
        } finally {
            releasing.writeLock().unlock();
        }
    }

    /** Takes {@link #refuseAllocations} back. */
    void acceptAllocations() {
        releasing.writeLock().lock();
        try {
            if (state == CLOSED) {
                state = OPEN;
            }
        } finally {
            releasing.writeLock().unlock();
        }
    }

    /**
     * Releases the provider's allocator, now if no block is live, otherwise with the last free.
     *
     * @throws RuntimeException what the provider threw from the release, if it was now; it is released all the same
     */
    void close() {
        releasing.writeLock().lock();
        try {
            if (state < DRAINING) {
                state = DRAINING;
            }
        } finally {
            releasing.writeLock().unlock();
        }
        settle();
        settleIfInstanceIdle();
    }

    private void settle() {
        if (blocks.isNone() && isReleasedByThisCall()) {
            release();
        }
    }

    /** Releases although blocks seem live, if they were all freed through other owners of the same instance. */
    void settleIfInstanceIdle() {
        if (state == DRAINING && reference.instance().isIdle() && isReleasedByThisCall()) {
            release();
        }
    }

    private boolean isReleasedByThisCall() {
        releasing.writeLock().lock();
        try {
            final boolean won = state == DRAINING && reference.instance().remove(blocks);
            if (won) {
                state = RELEASED;
            }
            return won;
        } finally {
            releasing.writeLock().unlock();
        }
    }

    private void release() {
        try {
            reference.release();
        } finally {
            onReleased.run();
        }
    }

    boolean isReleased() {
        return state == RELEASED;
    }

    /** What is live, for a message; empty if nothing is. */
    Optional<String> describeLiveBlocks() {
        final long live = blocks.count();
        if (live <= 0 || state == RELEASED || reference.instance().isIdle()) {
            return Optional.empty();
        }
        String bytes = "";
        try {
            bytes = " (" + stats().bytesInUse() + " bytes in use in its allocator)";
        } catch (RuntimeException e) {
            Log.debug("no statistics of " + this + ": " + e);
        }
        return Optional.of(owner + " has " + live + " live blocks in " + info + bytes);
    }

    @Override
    public String toString() {
        return info + " of " + owner;
    }
}
