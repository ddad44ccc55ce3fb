package allocator.runtime;

import allocator.provider.support.event.AllocatorEvents;
import allocator.runtime.AllocatorReport.Setting;
import allocator.runtime.AllocatorReport.Source;
import allocator.runtime.discovery.Causes;
import allocator.runtime.discovery.Log;
import allocator.runtime.inspection.AllocatorUse;
import allocator.runtime.inspection.CallSites;
import allocator.runtime.inspection.FailureSnapshots;
import allocator.runtime.lifetime.AllocatorReference;
import allocator.runtime.lifetime.Lease;
import allocator.runtime.snapshot.Snapshot.User;
import allocator.spi.Allocator;
import allocator.spi.AllocatorClosedException;
import allocator.spi.AllocatorException;
import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorSnapshot;
import allocator.spi.AllocatorStats;
import allocator.spi.DeviceException;
import allocator.spi.HostAccessibleAllocator;
import allocator.spi.InspectableAllocator;
import allocator.spi.InvalidSizeException;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryRange;
import allocator.spi.OutOfMemoryException;
import allocator.spi.ShrinkableAllocator;
import allocator.spi.SpiLevel;
import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncStream;
import allocator.spi.UnsupportedMemoryException;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A provider's allocator as one owner uses it, a session or the environment: ONNX Runtime's {@code IAllocator}.
 *
 * <p>It adds three things. Operations are called only from the {@link SpiLevel} that introduced them. An exception that
 * the contract does not allow becomes a {@link ProviderException}. Live blocks are counted, so that the provider's
 * allocator is released after the last one is freed. Memory is freed through the allocator that it came from.
 *
 * <p>When the owner is closed, allocations throw {@link AllocatorClosedException}; {@link #free} works on, and the last
 * free releases the provider's allocator.
 */
// One class, since its calls share the protocol of counting a block before or after the provider's call.
public final class ManagedAllocator implements Allocator {
    private final Allocator target;
    private final @Nullable StreamAwareAllocator streamAware;
    private final boolean canReserve;
    private final Lease lease;

    private final @Nullable HostAccessibleAllocator hostAccessible;
    private final @Nullable ManagedArena arena;
    private final int spiLevel;
    private final AllocatorReference reference;
    private final MemoryInfo info;
    private final String owner;
    private final Source source;
    private final AllocatorOptions requested;
    private final FailureSnapshots failureSnapshots;

    /**
     * Takes over a use of a reference.
     *
     * @param reference the reference, which counts this allocator as a user
     * @param target what is called: the reference's allocator, or a wrapper of it
     * @param owner the session's name, or {@link AllocatorReport#ENVIRONMENT}
     * @param source how the owner got it
     * @param requested the settings that the owner requested
     * @param failureSnapshots learns of requests that failed for lack of memory
     * @param onReleased run after the release
     */
    ManagedAllocator(
            AllocatorReference reference,
            Allocator target,
            String owner,
            Source source,
            AllocatorOptions requested,
            FailureSnapshots failureSnapshots,
            Runnable onReleased) {
        this.reference = reference;
        this.target = target;
        this.owner = owner;
        this.source = source;
        this.requested = requested;
        this.failureSnapshots = failureSnapshots;
        info = target.info();
        spiLevel = target.spiLevel();
        canReserve = spiLevel >= SpiLevel.RESERVE;
        streamAware = target instanceof StreamAwareAllocator aware && spiLevel >= SpiLevel.STREAMS ? aware : null;
        hostAccessible = target instanceof HostAccessibleAllocator accessible ? accessible : null;
        arena = target instanceof ShrinkableAllocator shrinkable && spiLevel >= SpiLevel.SHRINK
                ? new ManagedArena(this, shrinkable)
                : null;
        lease = new Lease(reference, onReleased);
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
            synchronized (lease) {
                lease.uncounted++;
            }
            throw failed("alloc", e);
        }
        if (address == 0) {
            throw returnedNull("alloc", byteSize);
        }
        try {
            record(address, byteSize, 0, false);
        } catch (Throwable e) {
            // Without an event: the caller has to learn the address.
        }
        return address;
    }

    /**
     * Allocates memory ordered on a stream if {@link #isStreamAware}, otherwise as {@link #alloc} does.
     *
     * @param byteSize size in bytes; {@code 0} yields the empty allocation, for which the stream is not checked
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
        } catch (Throwable e) {
            synchronized (lease) {
                lease.uncounted++;
            }
            settle();
            if (e instanceof IllegalArgumentException || e instanceof IllegalStateException) {
                throw e;
            }
            reportExhaustion(e);
            throw ProviderCalls.translate(reference.provider(), "allocOnStream", e);
        }
        if (address == 0) {
            throw returnedNull("allocOnStream", byteSize);
        }
        try {
            record(address, byteSize, stream.id(), false);
        } catch (Throwable e) {
            // Without an event, as in alloc; the stream is of the provider, which may throw anything.
        }
        return address;
    }

    /**
     * Allocates memory that lives as long as the session, outside the growth of an arena, if the allocator has at least
     * level {@link SpiLevel#RESERVE}; otherwise as {@link #alloc} does.
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
            synchronized (lease) {
                lease.uncounted++;
            }
            throw failed("reserve", e);
        }
        if (address == 0) {
            throw returnedNull("reserve", byteSize);
        }
        try {
            record(address, byteSize, 0, true);
        } catch (Throwable e) {
            // Without an event, as in alloc.
        }
        return address;
    }

    @Override
    public void free(long address) {
        if (address == 0) {
            return;
        }
        final Lease used = lease; // read once: the target's synchronization would make the compiler read it again
        if (used.isReleased()) {
            throw closedException();
        }
        recordFree(address);
        try {
            target.free(address);
        } catch (DeviceException e) {
            // The block is dead, and the caller has to learn it: nothing else may be thrown where the stack ends.
            synchronized (used) {
                used.uncounted++;
            }
            try {
                settle();
            } catch (Throwable missed) {
                // A release that was missed is made up for when the owner is closed or settled.
            }
            throw e;
        } catch (Throwable e) {
            throw failed("free", e);
        }
        boolean isUncounted = false;
        try {
            final boolean isDraining = used.leave();
            isUncounted = true;
            if (isDraining) {
                settle();
            }
        } catch (Throwable e) {
            // The free has succeeded. A release that was missed is made up for when the owner is closed or settled.
            if (!isUncounted) {
                synchronized (used) {
                    used.uncounted++;
                }
            }
        }
    }

    private void record(long address, long byteSize, long stream, boolean isReserve) {
        if (AllocatorEvents.recordsAllocations()) {
            AllocatorEvents.allocated(owner, info, address, byteSize, stream, isReserve);
        }
    }

    private void recordFree(long address) {
        try {
            if (AllocatorEvents.recordsFrees()) {
                AllocatorEvents.freeing(owner, info, address);
            }
        } catch (Throwable e) {
            // Without an event: the block is freed all the same.
        }
    }

    private void enter() {
        while (!lease.enter()) {
            synchronized (lease) {
                lease.uncounted++;
            }
            settle();
            requireOpen();
        }
    }

    private void requireOpen() {
        if (!lease.awaitDecision()) {
            throw closedException();
        }
    }

    private void settle() {
        try {
            lease.settle();
        } catch (Throwable e) {
            Log.failed("release", this, e);
        }
    }

    private void settleAfterHold() {
        settle();
        try {
            lease.settleIfInstanceIdle();
        } catch (Throwable e) {
            Log.failed("release", this, e);
        }
    }

    private RuntimeException failed(String operation, Throwable thrown) {
        settle();
        reportExhaustion(thrown);
        return ProviderCalls.translate(reference.provider(), operation, thrown);
    }

    private void reportExhaustion(Throwable thrown) {
        if (thrown instanceof OutOfMemoryException exhausted) {
            AllocatorEvents.failed(owner, exhausted.shortage().requested(), exhausted, "");
            failureSnapshots.exhausted(exhausted, owner);
        }
    }

    private ProviderException returnedNull(String operation, long byteSize) {
        synchronized (lease) {
            lease.uncounted++;
        }
        settle();
        return new ProviderException(
                reference.provider(), "returned address 0 from " + operation + "(" + byteSize + ")", null);
    }

    private long withoutBytes(long byteSize) {
        requireOpen();
        if (byteSize < 0) {
            throw InvalidSizeException.negative(byteSize);
        }
        return 0;
    }

    private AllocatorClosedException closedException() {
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
     * Returns the statistics of the provider's allocator. If several owners share the instance, they cover all of them;
     * this owner's own count is {@link #liveBlocks}.
     *
     * @return the statistics; {@link AllocatorStats#NONE} below level {@link SpiLevel#STATISTICS}
     * @throws AllocatorClosedException if the owner is closed and its memory was released
     */
    @Override
    public AllocatorStats stats() {
        return spiLevel < SpiLevel.STATISTICS ? AllocatorStats.NONE : whileHeld("stats", target::stats);
    }

    @Override
    public AllocatorOptions effectiveOptions() {
        // No use of the memory (L-02), so that it does not matter whether it was released.
        return ProviderCalls.call(reference.provider(), "effectiveOptions", target::effectiveOptions);
    }

    /**
     * Lists the memory that the provider's allocator holds, if it can. If several owners share the instance, it is the
     * memory of all of them.
     *
     * @return the regions, chunks and blocks; empty if the provider's allocator does not list them
     * @throws AllocatorClosedException if the owner is closed and its memory was released
     */
    public Optional<AllocatorSnapshot> inspect() {
        return reference.allocator() instanceof InspectableAllocator inspectable
                ? Optional.of(whileHeld("inspect", inspectable::inspect))
                : Optional.empty();
    }

    /**
     * Returns a memory segment over a live block.
     *
     * @param address the address of a block of this allocator, or {@code 0}
     * @param byteSize size in bytes, at most the size that was requested
     * @return a segment of exactly {@code byteSize} bytes
     * @throws UnsupportedMemoryException if the host cannot reach this memory; see {@link #isHostAccessible}
     * @throws AllocatorException if {@code byteSize} is negative, or not zero for the empty allocation; an
     *     {@link InvalidSizeException} of most providers
     */
    public MemorySegment segment(long address, long byteSize) {
        final HostAccessibleAllocator accessible = hostAccessible;
        if (accessible == null) {
            throw new UnsupportedMemoryException(
                    info + " cannot be viewed as a memory segment: the host cannot reach it");
        }
        if (lease.isReleased()) {
            throw closedException();
        }
        try {
            return accessible.segment(address, byteSize);
        } catch (Throwable e) {
            throw ProviderCalls.translate(reference.provider(), "segment", e);
        }
    }

    /**
     * Returns bytes of a block, for a copy. Nothing is checked but the numbers.
     *
     * @param address the address of the first byte, in a block of this allocator
     * @param byteSize the number of bytes, at least 0
     * @return the range
     * @throws InvalidSizeException if the size is negative
     * @throws IllegalArgumentException if the address is {@code 0} and the size is not
     */
    public MemoryRange range(long address, long byteSize) {
        return new MemoryRange(info, address, byteSize);
    }

    /**
     * Returns whether {@link #segment} works.
     *
     * @return whether the host can reach the memory
     */
    public boolean isHostAccessible() {
        return hostAccessible != null;
    }

    /**
     * Returns whether {@link #allocOnStream} orders memory on the stream.
     *
     * @return whether the provider's allocator does, and has at least level {@link SpiLevel#STREAMS}
     */
    public boolean isStreamAware() {
        return streamAware != null;
    }

    /**
     * Returns whether the device itself decides when freed memory may be used by another stream, without a wait of that
     * stream.
     *
     * @return what the provider's allocator reports; {@code false} unless {@link #isStreamAware}
     * @throws ProviderException if the call fails
     */
    public boolean isOrderedByDevice() {
        final StreamAwareAllocator aware = streamAware;
        return aware != null && ProviderCalls.call(reference.provider(), "isOrderedByDevice", aware::isOrderedByDevice);
    }

    /**
     * Returns this allocator as an arena.
     *
     * @return the arena, if the provider's allocator can shrink and has at least level {@link SpiLevel#SHRINK}
     */
    public Optional<ManagedArena> asArena() {
        return Optional.ofNullable(arena);
    }

    /**
     * Returns how many blocks of this owner are live.
     *
     * @return the count; exact while no thread allocates or frees
     */
    public long liveBlocks() {
        return Math.max(0, lease.count());
    }

    /**
     * Returns whether two owners use the same instance of the provider.
     *
     * @param other an allocator of any owner
     * @return whether they share memory, limits and statistics
     */
    public boolean isSameInstanceAs(ManagedAllocator other) {
        return reference.instance().equals(other.reference.instance());
    }

    /**
     * Reports where this allocator comes from and which settings are effective.
     *
     * @return the report
     */
    public AllocatorReport report() {
        final List<Setting> settings = AllocatorReport.compare(reference.keys(), requested, effectiveOptions(), source);
        return new AllocatorReport(info, reference.provider(), owner, source, settings);
    }

    AllocatorReference reference() {
        return reference;
    }

    Lease lease() {
        return lease;
    }

    /** Returns this owner's use of the provider's allocator, for a snapshot. */
    AllocatorUse use() {
        return new AllocatorUse(
                reference.instance(),
                reference.provider(),
                info,
                new User(owner, liveBlocks()),
                this::liveBlocks,
                lease::isReleased,
                this::inspect,
                this::stats,
                this::effectiveOptions,
                sites -> CallSites.addTo(target, owner, sites));
    }

    Source source() {
        return source;
    }

    AllocatorOptions requested() {
        return requested;
    }

    /** Calls the target, which is not released during the call. */
    <T> T whileHeld(String operation, Supplier<T> call) {
        if (!lease.tryHold()) {
            throw closedException();
        }
        try {
            return ProviderCalls.call(reference.provider(), operation, call);
        } finally {
            if (lease.endHold()) {
                settleAfterHold();
            }
        }
    }

    /**
     * Releases the provider's allocator: now if no block is live, otherwise with the last free.
     *
     * <p>A further call tries again what failed before the release.
     *
     * @throws RuntimeException what the provider threw if it was released now; see
     *     {@link allocator.runtime.lifetime.AllocatorReference#release}
     */
    void close() {
        lease.close();
    }

    /** As {@link #close}, where no block is live: the allocator is released when this method returns. */
    void closeUnused() {
        try {
            lease.close();
        } finally {
            lease.awaitRelease();
        }
    }

    /** Returns whether blocks are live. Calls no provider. */
    boolean hasLiveBlocks() {
        return lease.count() > 0 && !lease.isReleased() && !reference.instance().isIdle();
    }

    /** Describes the live blocks for a message, behind the name of the owner; empty if there are none. */
    Optional<String> describeLiveBlocks() {
        final long live = lease.count();
        if (live <= 0 || !hasLiveBlocks()) {
            return Optional.empty();
        }
        String bytes = "";
        try {
            bytes = " (" + stats().bytesInUse() + " bytes in use in its allocator)";
        } catch (Throwable e) {
            Log.debug("no statistics of " + this + ": " + Causes.describe(e));
        }
        return Optional.of("has " + live + (live == 1 ? " live block in " : " live blocks in ") + info + bytes);
    }

    @Override
    public String toString() {
        return info + " of " + owner;
    }
}
