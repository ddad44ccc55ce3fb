package allocator.runtime;

import allocator.provider.support.event.AllocatorEvents;
import allocator.provider.support.internal.Failures;
import allocator.runtime.SessionPlanner.Part;
import allocator.runtime.SessionPlanner.Plan;
import allocator.runtime.discovery.Log;
import allocator.runtime.inspection.AllocatorUse;
import allocator.runtime.lifetime.AllocatorReference;
import allocator.runtime.options.OptionPlace;
import allocator.runtime.options.ShrinkTarget;
import allocator.runtime.snapshot.Snapshot;
import allocator.runtime.snapshot.Snapshot.SessionState;
import allocator.runtime.transfer.ProviderTransfer;
import allocator.runtime.transfer.Router;
import allocator.spi.Allocator;
import allocator.spi.AllocatorClosedException;
import allocator.spi.AllocatorException;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryLocation;
import allocator.spi.MemoryType;
import allocator.spi.ShrinkReport;
import allocator.spi.SyncStream;
import allocator.spi.UnsupportedMemoryException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The allocators of one workload, and its runs. Opened by {@link Environment#openSession}.
 *
 * <p>Each memory of the session's devices has one allocator. If two devices have the same memory, the first device's
 * allocator is used. Read-only memory has an allocator of its own, for initializers.
 *
 * <p>Closing a session ends allocation at once. While a run is in progress or a block is live, the session's allocators
 * stay and frees work; the last run or free releases the provider's allocators. Until then the environment cannot be
 * closed and the providers cannot be unregistered.
 */
public final class Session implements AutoCloseable {
    private final Environment environment;
    private final String name;
    private final Plan plan;
    private final boolean reservesInitializers;
    private final SessionStreams[] streams;
    private final Object lock = new Object();

    /** The runs in progress, and the copies. */
    private int activeRuns;

    private boolean isClosed;

    private volatile SessionAllocators allocators = SessionAllocators.NONE;
    private volatile @Nullable Transfers transfers;

    /** Makes a session without allocators yet. */
    Session(Environment environment, String name, Plan plan, boolean reservesInitializers) {
        this.environment = environment;
        this.name = name;
        this.plan = plan;
        this.reservesInitializers = reservesInitializers;
        streams = plan.streams().values().toArray(new SessionStreams[0]);
    }

    /** Takes hold of what the plan needs. Called once the session is registered; allocates nothing. */
    void hold() {
        plan.hold();
    }

    /** Opens the allocators, all or none. If this method throws, what {@link #hold} took is released. */
    void open(UnaryOperator<Allocator> decorator) {
        allocators = SessionAllocators.open(plan, part -> open(part, decorator));
        AllocatorEvents.sessionOpened(name);
    }

    /**
     * Logs the settings of the allocators. If a provider fails to report them, it closes the session, which leaves the
     * environment once its allocators are released.
     */
    void logReport() {
        try {
            report().log();
        } catch (OutOfMemoryError e) {
            return; // the session is open, with or without a line
        } catch (Throwable e) {
            try {
                close();
            } catch (Throwable again) {
                Failures.suppress(e, again);
            }
            throw e;
        }
    }

    private ManagedAllocator open(Part part, UnaryOperator<Allocator> decorator) {
        final AllocatorReference reference = part.acquire(name);
        try {
            final Allocator target = decorator.apply(reference.allocator());
            if (!target.info().equals(reference.allocator().info())) {
                throw new IllegalArgumentException("the decorator of " + name + " returned an allocator of "
                        + target.info() + " for " + reference.allocator().info());
            }
            return new ManagedAllocator(
                    reference,
                    target,
                    name,
                    part.source(),
                    part.requested(),
                    environment.failureSnapshots(),
                    this::leaveIfFinished);
        } catch (Throwable e) {
            reference.releaseAfter(e);
            throw e;
        }
    }

    /** Leaves the environment if nothing of this session remains. What is missed here is done by {@link #settle}. */
    private void leaveIfFinished() {
        if (isFinished()) {
            environment.forget(this);
        }
    }

    /** Returns whether the session is closed, no run is in progress, and every allocator is released. */
    private boolean isFinished() {
        synchronized (lock) {
            if (!isClosed || activeRuns > 0) {
                return false;
            }
        }
        return allocators.isFinished();
    }

    /** {@return the session's name in messages and reports: the one it was given, or one generated from its number} */
    public String name() {
        return name;
    }

    /** {@return the session's devices, at least one, the default one first} */
    public List<ProviderDevice> devices() {
        return plan.devices();
    }

    /**
     * {@return the allocator of the default device's memory: its default memory, or else its host-accessible memory}
     *
     * @throws UnsupportedMemoryException if no device of the session has memory
     */
    public ManagedAllocator allocator() {
        final ManagedAllocator allocator = allocators.defaultAllocator();
        if (allocator == null) {
            throw new UnsupportedMemoryException(
                    "No requested allocator available: the devices of " + name + " have no memory");
        }
        return allocator;
    }

    /**
     * {@return the allocator of a memory, or empty if the session has none there}
     *
     * @param location the memory's location
     */
    public Optional<ManagedAllocator> allocator(MemoryLocation location) {
        Objects.requireNonNull(location, "location");
        return allocators.find(location);
    }

    /** {@return the session's allocators, one for each memory in the order of devices, without read-only memory} */
    public List<ManagedAllocator> allocators() {
        return allocators.list();
    }

    /**
     * {@return the allocator for data that is written once and then only read: that of the device's read-only memory if
     * it has one, otherwise the same as {@link #allocator(MemoryLocation)}; empty if the session has none there} Where
     * {@code arena.max_mem} limits that one it is used in any case, so that the limit covers initializers.
     *
     * @param location the memory's location
     */
    public Optional<ManagedAllocator> initializerAllocator(MemoryLocation location) {
        return allocators.findForInitializers(Objects.requireNonNull(location, "location"));
    }

    /**
     * Creates an arena of the JDK, confined to the calling thread, in host memory of this session: of its default
     * {@link #allocator()} if the host can reach that, otherwise of its first allocator of host-accessible memory.
     *
     * <p>Each segment is a block, counts against the limit of this session, and is filled with zeros as those of the
     * JDK's arenas are. {@code allocate} throws an {@link allocator.spi.OutOfMemoryException} where the limit or the
     * device cannot satisfy a request. The close invalidates the segments and frees their blocks. Close the arena
     * before this session; if it is closed later, the session's memory is released then.
     *
     * @return the arena, which the calling thread closes
     * @throws UnsupportedMemoryException if the host can reach no memory of this session
     * @throws AllocatorClosedException if this session is closed
     * @throws IllegalStateException if this module has no native access; the message names the flag of the JVM
     */
    public Arena newArena() {
        return newArena(Arena.ofConfined());
    }

    /** {@return a new arena, as {@link #newArena()} creates it, for use by several threads; any thread closes it} */
    public Arena newSharedArena() {
        return newArena(Arena.ofShared());
    }

    private Arena newArena(Arena lifetime) {
        requireOpen();
        return Stream.concat(Stream.of(allocator()), allocators.list().stream())
                .filter(ManagedAllocator::isHostAccessible)
                .findFirst()
                .map(allocator -> new SessionArena(allocator, lifetime))
                .orElseThrow(() -> new UnsupportedMemoryException("the host can reach no memory of " + name));
    }

    /**
     * Allocates memory for an initializer on the default device, from its {@link #initializerAllocator}: with
     * {@link ManagedAllocator#reserve} if {@link SessionOptions#USE_DEVICE_ALLOCATOR_FOR_INITIALIZERS} is set, or if
     * the device has read-only memory that is not used because of a limit; otherwise with
     * {@link ManagedAllocator#alloc}. {@link #report} says which.
     *
     * @param byteSize size in bytes
     * @return the address, to be freed through the same allocator
     * @throws allocator.spi.OutOfMemoryException if the limit or the device cannot satisfy the request
     */
    public long allocInitializer(long byteSize) {
        final ManagedAllocator allocator =
                initializerAllocator(allocator().info().location()).orElseThrow();
        return reservesInitializers(allocator) ? allocator.reserve(byteSize) : allocator.alloc(byteSize);
    }

    private boolean reservesInitializers(ManagedAllocator allocator) {
        return reservesInitializers
                || plan.limitedInitializers().contains(allocator.info().location());
    }

    /** Says where initializers come from, and whether a limit covers them. */
    private List<String> describeInitializers() {
        return allocators.list().stream()
                .filter(allocator -> allocator.info().memoryType() == MemoryType.DEFAULT)
                .map(allocator -> allocators
                        .findForInitializers(allocator.info().location())
                        .orElse(allocator))
                .map(allocator -> "initializers: "
                        + (reservesInitializers(allocator) ? "reserves of " : "blocks of ") + allocator.info()
                        + (plan.limitedInitializers().contains(allocator.info().location())
                                ? ", since its arena.max_mem limits them too"
                                : ""))
                .toList();
    }

    /**
     * Allocates memory for an initializer as {@link #allocInitializer} does, and copies its bytes there.
     *
     * @param data the bytes, native or on the Java heap
     * @return the address, to be freed through the same allocator
     * @throws UnsupportedMemoryException if no provider of the session copies there
     * @throws allocator.spi.OutOfMemoryException if there is no memory
     * @throws allocator.spi.DeviceException if the device fails
     * @throws AllocatorClosedException if the session is closed
     */
    public long loadInitializer(MemorySegment data) {
        final ManagedAllocator allocator =
                initializerAllocator(allocator().info().location()).orElseThrow();
        final long address = allocInitializer(data.byteSize());
        try {
            transfers().copy(data, allocator.range(address, data.byteSize()));
            return address;
        } catch (Throwable e) {
            try {
                allocator.free(address);
            } catch (Throwable again) {
                Failures.suppress(e, again);
            }
            throw e;
        }
    }

    /**
     * {@return the copies between this session's memories, and between them and the host: always the same object,
     * usable until this session is closed and its last run is over}
     *
     * @throws ProviderException if a provider of this session fails to tell what it copies
     */
    public Transfers transfers() {
        final Transfers known = transfers;
        if (known != null) {
            return known;
        }
        final Transfers made = newTransfers();
        synchronized (lock) {
            final Transfers other = transfers;
            if (other != null) {
                return other;
            }
            transfers = made;
            return made;
        }
    }

    private Transfers newTransfers() {
        final List<ProviderTransfer> providers = plan.transferring().stream()
                .flatMap(provider -> provider.transfer().stream())
                .toList();
        return new Transfers(
                this,
                new Router(
                        providers,
                        allocators.pinned(),
                        memory -> streams(memory.location())
                                .filter(SessionStreams::hasStreams)
                                .map(SessionStreams::lend)));
    }

    /**
     * Creates a stream of the default device that outlives runs. The caller closes it; what is open when this session
     * ends is closed then, which waits for its work.
     *
     * @return a new stream, which no run uses
     * @throws UnsupportedMemoryException if the device has no streams
     * @throws allocator.spi.DeviceException if the driver fails
     * @throws AllocatorClosedException if the session is closed
     */
    public SyncStream openStream() {
        return whileUsed(() -> requireStreams().open());
    }

    /**
     * Creates a stream as {@link #openStream()} does, of another device.
     *
     * @param memory the device's default memory
     * @return a new stream, which no run uses
     * @throws UnsupportedMemoryException if the session has no such device or it has no streams
     */
    public SyncStream openStream(MemoryInfo memory) {
        return whileUsed(() -> requireStreams(memory).open());
    }

    /**
     * Makes a stream of the default device that other code has created usable with this session: for allocations,
     * copies and notifications. The view does not own the stream: its close, or that of this session, waits for the
     * work and destroys nothing. Close it before the stream's owner destroys the stream.
     *
     * @param handle the device's handle of the stream, such as a {@code CUstream} of JCuda
     * @return the view
     * @throws UnsupportedMemoryException if the provider has no views of streams
     * @throws IllegalArgumentException if the handle is none of a stream of the device, or the stream was destroyed, as
     *     far as the driver reports it
     * @throws IllegalStateException if the stream is the provider's own, or a view of it is open
     * @throws allocator.spi.DeviceException if the driver fails
     * @throws AllocatorClosedException if the session is closed
     */
    public SyncStream viewStream(long handle) {
        return whileUsed(() -> requireStreams().view(handle));
    }

    /**
     * Makes a stream usable as {@link #viewStream(long)} does, of another device.
     *
     * @param memory the device's default memory
     * @param handle the device's handle of the stream
     * @return the view
     * @throws UnsupportedMemoryException if the session has no such device, or its provider no views of streams
     */
    public SyncStream viewStream(MemoryInfo memory, long handle) {
        return whileUsed(() -> requireStreams(memory).view(handle));
    }

    /** Runs a call, during which this session does not end. */
    void whileUsed(Runnable call) {
        whileUsed(() -> {
            call.run();
            return true;
        });
    }

    /** Runs a call, during which this session does not end. Works in a run of a closed session as well. */
    <T> T whileUsed(Supplier<T> call) {
        final Failures failures = new Failures();
        synchronized (lock) {
            if (isClosed && activeRuns == 0) {
                throw closed();
            }
            activeRuns++;
        }
        final T result;
        try {
            result = call.get();
        } catch (Throwable thrown) {
            failures.add(thrown);
            finishIfLast(failures);
            throw thrown;
        }
        finishIfLast(failures);
        failures.throwIfAny();
        return result;
    }

    private void finishIfLast(Failures failures) {
        if (isLastRunOfClosed()) {
            finish(failures);
            environment.reportLeaks(this);
        }
    }

    /**
     * Runs work that uses this session's allocators, and streams that no other run uses at the same time.
     *
     * <p>When the work returns or throws, the run's streams are synchronized, and then the arenas named by
     * {@link RunOptions#SHRINK_KEY} are shrunk. The whole list is checked before the work begins. A failed shrink is
     * reported and logged, since it does not affect the work; a failed synchronization fails the run. Runs may be
     * concurrent. Memory may outlive its run.
     *
     * @param options what happens when the run ends
     * @param work the work; called once, by the calling thread
     * @param <X> the type of exception that the work may throw
     * @return what the run did besides its work
     * @throws X if the work threw it; failures at the end of the run are suppressed in it
     * @throws allocator.spi.InvalidOptionException if the list names an arena that this session does not have; the work
     *     does not begin
     * @throws AllocatorClosedException if the session is closed
     * @throws allocator.spi.DeviceException if the device fails at the end of the run
     */
    public <X extends Exception> RunReport run(RunOptions options, Run.Work<X> work) throws X {
        Objects.requireNonNull(options, "options");
        Objects.requireNonNull(work, "work");
        requireOpen();
        final List<ManagedAllocator> toShrink =
                allocators.arenasToShrink(options.shrinkTargets(), options.shrinkList(), OptionPlace.RUN.origin());
        final List<RunReport.Shrunk> shrunk = new ArrayList<>(toShrink.size());
        final Failures failures = new Failures();
        final Run run = new Run(this);
        begin();
        try {
            work.execute(run);
        } catch (Throwable thrown) {
            failures.add(thrown);
        }
        final int used = end(run, options, toShrink, shrunk, failures);
        failures.throwIfAny();
        return new RunReport(used, shrunk);
    }

    private void begin() {
        synchronized (lock) {
            requireOpen();
            activeRuns++;
        }
    }

    private void requireOpen() {
        if (isClosed()) {
            throw closed();
        }
    }

    private AllocatorClosedException closed() {
        return new AllocatorClosedException(name + " is closed");
    }

    /** Ends a run, whatever fails of it; returns the number of streams. */
    private int end(
            Run run,
            RunOptions options,
            List<ManagedAllocator> toShrink,
            List<RunReport.Shrunk> shrunk,
            Failures failures) {
        try {
            final int used = run.end(options.isSynchronized(), failures);
            toShrink.forEach(arena -> failures.run(() -> shrunk.add(shrink(arena))));
            return used;
        } finally {
            finishIfLast(failures);
        }
    }

    private static RunReport.Shrunk shrink(ManagedAllocator arena) {
        try {
            return new RunReport.Shrunk(arena.info(), arena.shrink(), null);
        } catch (AllocatorException e) {
            Log.warning("Unable to shrink arena: " + arena + " error message: " + Failures.messageOf(e));
            return new RunReport.Shrunk(arena.info(), null, e);
        }
    }

    private boolean isLastRunOfClosed() {
        synchronized (lock) {
            activeRuns--;
            return isClosed && activeRuns == 0;
        }
    }

    /**
     * Returns unused memory of an arena to its device. May be called at any time, also during runs, and for any memory
     * of the session, host-accessible memory included.
     *
     * @param location the memory's location
     * @return what was released and what is still held
     * @throws UnsupportedMemoryException if the session has no arena there
     * @throws AllocatorClosedException if the session is closed
     * @throws allocator.spi.DeviceException if the driver fails
     */
    public ShrinkReport shrink(MemoryLocation location) {
        requireOpen();
        return arena(allocator(location), location, name).shrink();
    }

    /**
     * Returns unused memory of the arenas that a list names to their devices: ONNX Runtime's
     * {@code ShrinkMemoryArenas}, and what {@link RunOptions#SHRINK_KEY} does at the end of a run. The whole list is
     * checked before the first arena is shrunk. May be called at any time, also during runs.
     *
     * @param list device types with an ordinal, {@code 0} if omitted, separated by semicolons, such as
     *     {@code gpu:0;cpu:0}: the arenas of the devices' default memory. An empty list names none
     * @return what was released by each arena, in the order of the list, each instance once. A shrink that fails is
     *     reported there and logged, and the others are shrunk nevertheless
     * @throws allocator.spi.InvalidOptionException if the list is not of that form, or names an arena that this session
     *     does not have; no arena is shrunk
     * @throws AllocatorClosedException if the session is closed
     */
    public List<RunReport.Shrunk> shrink(String list) {
        final String origin = "Session.shrink";
        final List<ShrinkTarget> targets = ShrinkTarget.parse(list, origin);
        requireOpen();
        return whileUsed(() -> allocators.arenasToShrink(targets, list, origin).stream()
                .map(Session::shrink)
                .toList());
    }

    static ManagedAllocator arena(Optional<ManagedAllocator> allocator, MemoryLocation location, String owner) {
        return allocator
                .filter(ManagedAllocator::isArena)
                .orElseThrow(() -> new UnsupportedMemoryException(owner + " has "
                        + (allocator.isEmpty() ? "no allocator" : "an allocator but no arena") + " for " + location));
    }

    /**
     * {@return a report of where the session's allocators come from, and which of its settings are effective} For a
     * closed session the report covers only the allocators that still have live blocks.
     */
    public SessionReport report() {
        return new SessionReport(
                name,
                allocators
                        .all()
                        .filter(allocator -> !allocator.lease().isReleased())
                        .map(ManagedAllocator::report)
                        .toList(),
                describeInitializers(),
                plan.notes());
    }

    /**
     * {@return what this session's allocators hold, chunk by chunk, with all their users: the session, its devices, and
     * those of its allocators that are not released} May be called at any time; other calls wait for it as
     * {@link allocator.spi.InspectableAllocator#inspect} says.
     */
    public Snapshot snapshot() {
        return environment.snapshot(this);
    }

    /** Returns the use of each allocator that is not released, those of read-only memory included. */
    Stream<AllocatorUse> uses() {
        return allocators
                .all()
                .filter(allocator -> !allocator.lease().isReleased())
                .map(ManagedAllocator::use);
    }

    /** Returns the use of each allocator in which a block of this session is live. */
    List<AllocatorUse> usesWithLiveBlocks() {
        return allocators
                .all()
                .filter(ManagedAllocator::hasLiveBlocks)
                .map(ManagedAllocator::use)
                .toList();
    }

    SessionState describeState() {
        return new SessionState(name, isClosed(), liveBlocks());
    }

    /** {@return how many blocks of this session are live; exact while no thread allocates or frees} */
    public long liveBlocks() {
        return allocators.all().mapToLong(ManagedAllocator::liveBlocks).sum();
    }

    /** {@return whether the session was closed} Its allocators may still have live blocks. */
    public boolean isClosed() {
        synchronized (lock) {
            return isClosed;
        }
    }

    /**
     * Closes the session: from here on, allocations and new runs are rejected. The providers' allocators are released
     * at once if no run is in progress and no block is live, otherwise by the last run or free. A call for statistics,
     * options or a shrink is waited for, up to two seconds; if it goes on for longer, its end releases the allocator.
     * May block on the device to close streams and return memory. A second call tries again what failed, and otherwise
     * does nothing.
     *
     * @throws AllocatorException if a provider failed to close a stream or to release memory, such as a
     *     {@link allocator.spi.DeviceException} that names the bytes; the session is closed nevertheless. What may not
     *     have been closed or released is tried again by {@link Environment#close} at the latest
     */
    @Override
    public void close() {
        final Failures failures = new Failures();
        final boolean isIdle;
        final boolean isFirst;
        synchronized (lock) {
            isFirst = !isClosed;
            isClosed = true;
            isIdle = activeRuns == 0;
        }
        allocators.rejectAllocations();
        if (isFirst) {
            AllocatorEvents.sessionClosed(name, this::liveBlocks);
        }
        if (isIdle) {
            finish(failures);
            if (isFirst) {
                environment.reportLeaks(this);
            }
        }
        failures.throwIfAny();
    }

    /**
     * Closes the streams first: closing one may still return memory to the arena to which it is bound. Whatever fails,
     * the rest is attempted; a further call tries the failed steps again.
     */
    private void finish(Failures failures) {
        for (int i = streams.length - 1; i >= 0; i--) {
            streams[i].close(failures);
        }
        allocators.close(failures);
        failures.run(this::leaveIfFinished);
    }

    /** Releases allocators whose blocks were freed through other owners, and what an earlier attempt has missed. */
    void settle(Failures failures) {
        final boolean isEnding;
        synchronized (lock) {
            isEnding = isClosed && activeRuns == 0;
        }
        if (isEnding) {
            finish(failures);
        } else {
            allocators.settle(failures);
        }
    }

    /** Returns whether this session depends on a provider. */
    boolean uses(String provider) {
        return plan.providers().contains(provider);
    }

    /** Describes what keeps the session from being released, for a message. */
    String describe() {
        final List<String> parts = new ArrayList<>();
        synchronized (lock) {
            if (activeRuns > 0) {
                parts.add(activeRuns + (activeRuns == 1 ? " run in progress" : " runs in progress"));
            }
            parts.addFirst(name + (isClosed ? " is closed" : " is open"));
        }
        allocators
                .all()
                .flatMap(allocator -> allocator.describeLiveBlocks().stream())
                .forEach(parts::add);
        return String.join(", ", parts);
    }

    /** Returns the streams of the default device. */
    Optional<SessionStreams> streams() {
        return plan.streams().values().stream().findFirst();
    }

    Optional<SessionStreams> streams(MemoryLocation location) {
        return Optional.ofNullable(plan.streams().get(location));
    }

    SessionStreams requireStreams() {
        return streams()
                .orElseThrow(() -> new UnsupportedMemoryException(
                        this + " has no device with memory of its own, so it has no streams"));
    }

    SessionStreams requireStreams(MemoryInfo memory) {
        return streams(memory.location())
                .orElseThrow(() ->
                        new UnsupportedMemoryException(this + " has no device with the default memory " + memory));
    }

    @Override
    public String toString() {
        return name;
    }
}
