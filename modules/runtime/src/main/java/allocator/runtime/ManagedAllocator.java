package allocator.runtime;

import allocator.provider.support.budget.BudgetPressure;
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
import allocator.spi.PagedReserves;
import allocator.spi.ShrinkReport;
import allocator.spi.ShrinkableAllocator;
import allocator.spi.SpiLevel;
import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncStream;
import allocator.spi.UnsupportedMemoryException;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.function.LongSupplier;
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
public final class ManagedAllocator implements StreamAwareAllocator, ShrinkableAllocator, HostAccessibleAllocator {
    private static final ShrinkReport NOTHING = new ShrinkReport(0, 0, 0, 0, 0);

    /** Has the class of statistics initialized with this one, where there is stack for it. */
    private static final AllocatorStats NO_STATISTICS = AllocatorStats.NONE;

    private final Allocator target;
    private final @Nullable StreamAwareAllocator streamAware;
    private final boolean canReserve;
    private final Lease lease;

    private final @Nullable HostAccessibleAllocator hostAccessible;
    private final @Nullable ShrinkableAllocator shrinkable;
    private final @Nullable InspectableAllocator inspectable;
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
        streamAware = capability(StreamAwareAllocator.class, SpiLevel.STREAMS);
        shrinkable = capability(ShrinkableAllocator.class, SpiLevel.SHRINK);
        hostAccessible = capability(HostAccessibleAllocator.class, SpiLevel.MINIMUM);
        inspectable = reference.allocator().as(InspectableAllocator.class).orElse(null);
        lease = new Lease(reference, onReleased);
    }

    /** {@inheritDoc} This allocator, if the provider's has the capability at its level; of pages the provider's. */
    @Override
    public <T> Optional<T> as(Class<T> capability) {
        if (capability == PagedReserves.class) {
            return target.as(capability);
        }
        final boolean isMissing = (capability == StreamAwareAllocator.class && streamAware == null)
                || (capability == ShrinkableAllocator.class && shrinkable == null)
                || (capability == HostAccessibleAllocator.class && hostAccessible == null);
        return isMissing ? Optional.empty() : StreamAwareAllocator.super.as(capability);
    }

    private <T> @Nullable T capability(Class<T> type, int level) {
        return spiLevel < level ? null : target.as(type).orElse(null);
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
        } catch (OutOfMemoryException e) {
            return again("alloc", e, byteSize, 0, false, () -> target.alloc(byteSize));
        } catch (Throwable e) {
            throw failed("alloc", e);
        }
        return allocated("alloc", address, byteSize, 0, false);
    }

    /**
     * Allocates memory ordered on a stream if {@link #isStreamAware}, otherwise as {@link #alloc} does.
     *
     * @param byteSize size in bytes; {@code 0} yields the empty allocation, for which the stream is not checked
     * @param stream a stream of the same device
     * @return the address; {@code 0} if and only if {@code byteSize} is {@code 0}
     * @throws AllocatorException as {@link #alloc}
     * @throws IllegalArgumentException if the allocator is stream-aware and {@code stream} belongs to another device
     * @throws IllegalStateException if the allocator is stream-aware and {@code stream} is closed
     */
    @Override
    public long allocOnStream(long byteSize, SyncStream stream) {
        Objects.requireNonNull(stream, "stream");
        final StreamAwareAllocator aware = streamAware;
        if (aware == null || byteSize <= 0) {
            return alloc(byteSize);
        }
        final long id = AllocatorEvents.recordsAllocations() ? stream.id() : 0;
        enter();
        final long address;
        try {
            address = aware.allocOnStream(byteSize, stream);
        } catch (OutOfMemoryException e) {
            return again("allocOnStream", e, byteSize, id, false, () -> aware.allocOnStream(byteSize, stream));
        } catch (IllegalArgumentException | IllegalStateException e) {
            lease.leave();
            throw e;
        } catch (Throwable e) {
            throw failed("allocOnStream", e);
        }
        return allocated("allocOnStream", address, byteSize, id, false);
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
        } catch (OutOfMemoryException e) {
            return again("reserve", e, byteSize, 0, true, () -> target.reserve(byteSize));
        } catch (Throwable e) {
            throw failed("reserve", e);
        }
        return allocated("reserve", address, byteSize, 0, true);
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
        if (AllocatorEvents.recordsFrees()) {
            AllocatorEvents.freeing(owner, info, address);
        }
        try {
            target.free(address);
        } catch (DeviceException e) {
            Log.failed("free", this, e); // of a provider that was written before a free took effect: the block is dead
        } catch (Throwable e) {
            throw ProviderCalls.translate(reference.provider(), "free", e);
        }
        used.leave();
    }

    private void enter() {
        if (!lease.enter()) {
            throw closedException();
        }
    }

    private long allocated(String operation, long address, long byteSize, long stream, boolean isReserve) {
        if (address == 0) {
            lease.leave();
            throw new ProviderException(
                    reference.provider(), "returned address 0 from " + operation + "(" + byteSize + ")", null);
        }
        if (AllocatorEvents.recordsAllocations()) {
            AllocatorEvents.allocated(owner, info, address, byteSize, stream, isReserve, "");
        }
        return address;
    }

    /** Makes an allocation again after it failed, if the limit of the device was the reason. */
    private long again(
            String operation,
            OutOfMemoryException failure,
            long byteSize,
            long stream,
            boolean isReserve,
            LongSupplier call) {
        final long address;
        try {
            address = BudgetPressure.again(failure, info, reference.instance(), call);
        } catch (Throwable e) {
            throw failed(operation, e);
        }
        return allocated(operation, address, byteSize, stream, isReserve);
    }

    private RuntimeException failed(String operation, Throwable thrown) {
        lease.leave();
        if (thrown instanceof OutOfMemoryException exhausted) {
            AllocatorEvents.failed(owner, exhausted.shortage().requested(), exhausted, "");
            failureSnapshots.exhausted(exhausted, owner, "");
        }
        return ProviderCalls.translate(reference.provider(), operation, thrown);
    }

    private long withoutBytes(long byteSize) {
        if (!lease.awaitDecision()) {
            throw closedException();
        }
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
     * {@return the statistics of the provider's allocator; {@link AllocatorStats#NONE} below level
     * {@link SpiLevel#STATISTICS}} If several owners share the instance, they cover all of them; this owner's own count
     * is {@link #liveBlocks}.
     *
     * @throws AllocatorClosedException if the owner is closed and its memory was released
     */
    @Override
    public AllocatorStats stats() {
        return spiLevel < SpiLevel.STATISTICS ? NO_STATISTICS : whileHeld("stats", target::stats);
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
        final InspectableAllocator listing = inspectable;
        return listing == null ? Optional.empty() : Optional.of(whileHeld("inspect", listing::inspect));
    }

    /**
     * {@return a memory segment of exactly {@code byteSize} bytes over a live block}
     *
     * @param address the address of a block of this allocator, or {@code 0}
     * @param byteSize size in bytes, at most the size that was requested
     * @throws UnsupportedMemoryException if the host cannot reach this memory; see {@link #isHostAccessible}
     * @throws AllocatorException if {@code byteSize} is negative, or not zero for the empty allocation; an
     *     {@link InvalidSizeException} of most providers
     */
    @Override
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
     * {@return bytes of a block, for a copy} Nothing is checked but the numbers.
     *
     * @param address the address of the first byte, in a block of this allocator
     * @param byteSize the number of bytes, at least 0
     * @throws InvalidSizeException if the size is negative
     * @throws IllegalArgumentException if the address is {@code 0} and the size is not
     */
    public MemoryRange range(long address, long byteSize) {
        return new MemoryRange(info, address, byteSize);
    }

    /** {@return whether {@link #segment} works: whether the host can reach the memory} */
    public boolean isHostAccessible() {
        return hostAccessible != null;
    }

    /**
     * {@return whether {@link #allocOnStream} orders memory on the stream: whether the provider's allocator does, and
     * has at least level {@link SpiLevel#STREAMS}}
     */
    public boolean isStreamAware() {
        return streamAware != null;
    }

    /**
     * {@return whether the device itself decides when freed memory may be used by another stream, without a wait of
     * that stream: what the provider's allocator reports; {@code false} unless {@link #isStreamAware}}
     *
     * @throws ProviderException if the call fails
     */
    @Override
    public boolean isOrderedByDevice() {
        final StreamAwareAllocator aware = streamAware;
        return aware != null && ProviderCalls.call(reference.provider(), "isOrderedByDevice", aware::isOrderedByDevice);
    }

    /**
     * {@return whether this allocator is an arena, which {@link #shrink} can make smaller: whether the provider's
     * allocator can shrink, and has at least level {@link SpiLevel#SHRINK}}
     */
    public boolean isArena() {
        return shrinkable != null;
    }

    /**
     * Returns unused memory to the device. May be called at any time, while other threads allocate and free. If several
     * sessions share the instance, all of it is shrunk. May block on the device.
     *
     * @return what was released and what is still held; all zero if this is no {@linkplain #isArena arena}
     * @throws DeviceException if the driver fails
     * @throws AllocatorClosedException if the owner is closed and its memory was released
     */
    @Override
    public ShrinkReport shrink() {
        final ShrinkableAllocator arena = shrinkable;
        if (arena == null) {
            return NOTHING;
        }
        final ShrinkReport report = whileHeld("shrink", arena::shrink);
        Log.debug("shrink of " + this + ": " + report);
        return report;
    }

    /** {@return how many blocks of this owner are live; exact while no thread allocates or frees} */
    public long liveBlocks() {
        return Math.max(0, lease.count());
    }

    /**
     * {@return whether two owners use the same instance of the provider, and with it memory, limits and statistics}
     *
     * @param other an allocator of any owner
     */
    public boolean isSameInstanceAs(ManagedAllocator other) {
        return reference.instance().equals(other.reference.instance());
    }

    /** {@return a report of where this allocator comes from and which settings are effective} */
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

    /** Returns what others may shrink where the limit of the device is reached. */
    BudgetPressure.Part partOfDevice() {
        return new HeldByAllocator(this);
    }

    /** Part of what an environment holds. One that is no arena releases nothing. */
    private record HeldByAllocator(ManagedAllocator allocator) implements BudgetPressure.Part {
        @Override
        public MemoryInfo memory() {
            return allocator.info;
        }

        @Override
        public Object identity() {
            return allocator.reference.instance();
        }

        @Override
        public long bytesHeld() {
            return allocator.stats().bytesHeld();
        }

        @Override
        public long shrink() {
            return allocator.shrink().bytesReleased();
        }

        @Override
        public String toString() {
            return allocator.toString();
        }
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
        if (!lease.tryCall()) {
            throw closedException();
        }
        try {
            return ProviderCalls.call(reference.provider(), operation, call);
        } finally {
            lease.endCall();
        }
    }

    /**
     * Releases the provider's allocator: now if no block is live, otherwise with the last free.
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
