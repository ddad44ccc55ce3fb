package allocator.runtime;

import allocator.runtime.SessionPlanner.Part;
import allocator.runtime.SessionPlanner.Plan;
import allocator.runtime.lifetime.AllocatorReference;
import allocator.runtime.lifetime.Cleanup;
import allocator.spi.Allocator;
import allocator.spi.AllocatorClosedException;
import allocator.spi.AllocatorException;
import allocator.spi.MemoryLocation;
import allocator.spi.ShrinkReport;
import allocator.spi.UnsupportedMemoryException;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.UnaryOperator;

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
    private final ReentrantLock lock = new ReentrantLock();
    private final AtomicInteger unreleased = new AtomicInteger(1);
    private int activeRuns;
    private boolean isClosed;

    private volatile SessionAllocators allocators = SessionAllocators.NONE;

    /** Makes a session without allocators yet. */
    Session(Environment environment, String name, Plan plan, boolean reservesInitializers) {
        this.environment = environment;
        this.name = name;
        this.plan = plan;
        this.reservesInitializers = reservesInitializers;
    }

    /** Opens the allocators, all or none. */
    void open(UnaryOperator<Allocator> decorator) {
        allocators = SessionAllocators.open(plan, part -> open(part, decorator));
    }

    /**
     * Logs the settings of the allocators. If that fails, it closes the session, which leaves the environment once its
     * allocators are released.
     */
    void logReport() {
        try {
            report().log();
        } catch (RuntimeException e) {
            final Cleanup cleanup = new Cleanup();
            cleanup.onUndo(this::close);
            throw cleanup.undo(e);
        }
    }

    private ManagedAllocator open(Part part, UnaryOperator<Allocator> decorator) {
        final AllocatorReference reference = part.acquire();
        final Cleanup cleanup = new Cleanup();
        cleanup.onUndo(reference::release);
        try {
            final Allocator target = decorator.apply(reference.allocator());
            if (!target.info().equals(reference.allocator().info())) {
                throw new IllegalArgumentException("the decorator of " + name + " returned an allocator of "
                        + target.info() + " for " + reference.allocator().info());
            }
            final ManagedAllocator allocator =
                    new ManagedAllocator(reference, target, name, part.source(), part.requested(), this::onReleased);
            unreleased.incrementAndGet();
            return allocator;
        } catch (RuntimeException e) {
            throw cleanup.undo(e);
        }
    }

    private void onReleased() {
        if (unreleased.decrementAndGet() == 0) {
            environment.forget(this);
        }
    }

    /**
     * Returns the session's name in messages and reports.
     *
     * @return the name it was given, or one generated from its number
     */
    public String name() {
        return name;
    }

    /**
     * Returns the session's devices, the default one first.
     *
     * @return at least one
     */
    public List<ProviderDevice> devices() {
        return plan.devices();
    }

    /**
     * Returns the allocator of the default device's memory: its default memory, or else its host-accessible memory.
     *
     * @return the allocator
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
     * Returns the allocator of a memory.
     *
     * @param location the memory's location
     * @return the allocator, or empty if the session has none there
     */
    public Optional<ManagedAllocator> allocator(MemoryLocation location) {
        Objects.requireNonNull(location, "location");
        return allocators.find(location);
    }

    /**
     * Returns the session's allocators, without those of read-only memory.
     *
     * @return one for each memory, in the order of the devices
     */
    public List<ManagedAllocator> allocators() {
        return allocators.list();
    }

    /**
     * Returns the allocator for data that is written once and then only read: that of the device's read-only memory if
     * it has one, otherwise the same as {@link #allocator(MemoryLocation)}.
     *
     * @param location the memory's location
     * @return the allocator, or empty if the session has none there
     */
    public Optional<ManagedAllocator> initializerAllocator(MemoryLocation location) {
        return allocators.findForInitializers(Objects.requireNonNull(location, "location"));
    }

    /**
     * Allocates memory for an initializer on the default device, from its {@link #initializerAllocator}: with
     * {@link ManagedAllocator#reserve} if {@link SessionOptions#USE_DEVICE_ALLOCATOR_FOR_INITIALIZERS} is set,
     * otherwise with {@link ManagedAllocator#alloc}.
     *
     * @param byteSize size in bytes
     * @return the address, to be freed through the same allocator
     */
    public long allocInitializer(long byteSize) {
        final ManagedAllocator allocator =
                initializerAllocator(allocator().info().location()).orElseThrow();
        return reservesInitializers ? allocator.reserve(byteSize) : allocator.alloc(byteSize);
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
    public <X extends Exception> RunReport run(RunOptions options, RunWork<X> work) throws X {
        Objects.requireNonNull(options, "options");
        Objects.requireNonNull(work, "work");
        requireOpen();
        final List<ManagedArena> toShrink = allocators.arenasToShrink(options);
        final Run run = begin();
        try {
            work.execute(run);
        } catch (Throwable thrown) {
            final Cleanup cleanup = new Cleanup();
            end(run, options, toShrink, cleanup);
            cleanup.suppressIn(thrown);
            throw thrown;
        }
        final Cleanup cleanup = new Cleanup();
        final RunReport report = end(run, options, toShrink, cleanup);
        cleanup.throwIfAny();
        return report;
    }

    private Run begin() {
        lock.lock();
        try {
            requireOpen();
            activeRuns++;
            return new Run(this);
        } finally {
            lock.unlock();
        }
    }

    private void requireOpen() {
        if (isClosed()) {
            throw new AllocatorClosedException(name + " is closed");
        }
    }

    private RunReport end(Run run, RunOptions options, List<ManagedArena> toShrink, Cleanup cleanup) {
        final int streams = run.end(options.isSynchronized(), cleanup);
        final List<RunReport.Shrunk> shrunk = new ArrayList<>();
        toShrink.forEach(arena -> shrunk.add(shrink(arena)));
        if (isLastRunOfClosed()) {
            cleanup.attempt(this::finish);
        }
        return new RunReport(streams, shrunk);
    }

    private static RunReport.Shrunk shrink(ManagedArena arena) {
        try {
            return new RunReport.Shrunk(arena.info(), arena.shrink(), null);
        } catch (AllocatorException e) {
            Log.warning("Unable to shrink arena: " + arena + " error message: " + e.getMessage());
            return new RunReport.Shrunk(arena.info(), null, e);
        }
    }

    private boolean isLastRunOfClosed() {
        lock.lock();
        try {
            activeRuns--;
            return isClosed && activeRuns == 0;
        } finally {
            lock.unlock();
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

    static ManagedArena arena(Optional<ManagedAllocator> allocator, MemoryLocation location, String owner) {
        return allocator
                .flatMap(ManagedAllocator::asArena)
                .orElseThrow(() -> new UnsupportedMemoryException(owner + " has "
                        + (allocator.isEmpty() ? "no allocator" : "an allocator but no arena") + " for " + location));
    }

    /**
     * Reports where the session's allocators come from, and which of its settings are effective. For a closed session
     * the report covers only the allocators that still have live blocks.
     *
     * @return the report
     */
    public SessionReport report() {
        return new SessionReport(
                name,
                allocators
                        .all()
                        .filter(allocator -> !allocator.lease().isReleased())
                        .map(ManagedAllocator::report)
                        .toList(),
                plan.notes());
    }

    /**
     * Returns how many blocks of this session are live.
     *
     * @return the count; exact while no thread allocates or frees
     */
    public long liveBlocks() {
        return allocators.all().mapToLong(ManagedAllocator::liveBlocks).sum();
    }

    /**
     * Returns whether the session was closed. Its allocators may still have live blocks.
     *
     * @return whether {@link #close} was called
     */
    public boolean isClosed() {
        lock.lock();
        try {
            return isClosed;
        } finally {
            lock.unlock();
        }
    }

    /**
     * Closes the session: from here on, allocations and new runs are rejected. The providers' allocators are released
     * at once if no run is in progress and no block is live, otherwise by the last run or free. May block on the device
     * to close streams and return memory. A second call does nothing.
     *
     * @throws AllocatorException if a provider failed to close a stream or to release memory; the session is closed
     *     nevertheless
     */
    @Override
    public void close() {
        final boolean isIdle;
        lock.lock();
        try {
            if (isClosed) {
                return;
            }
            isClosed = true;
            isIdle = activeRuns == 0;
        } finally {
            lock.unlock();
        }
        allocators.all().forEach(allocator -> allocator.lease().rejectAllocations());
        if (isIdle) {
            finish();
        }
    }

    /** Closes the streams first: closing one may still return memory to the arena to which it is bound. */
    private void finish() {
        final Cleanup cleanup = new Cleanup();
        new ArrayList<>(plan.streams().values()).reversed().forEach(idle -> cleanup.attempt(idle::close));
        allocators.all().toList().reversed().forEach(allocator -> cleanup.attempt(allocator::close));
        onReleased();
        cleanup.throwIfAny();
    }

    /** Releases allocators whose blocks were freed through other owners. */
    void settle() {
        allocators.all().forEach(allocator -> allocator.lease().settleIfInstanceIdle());
    }

    /** Returns whether this session depends on a provider. */
    boolean uses(String provider) {
        return plan.providers().contains(provider);
    }

    /** Describes what keeps the session from being released, for a message. */
    String describe() {
        final List<String> parts = new ArrayList<>();
        lock.lock();
        try {
            if (activeRuns > 0) {
                parts.add(activeRuns + " runs in progress");
            }
            parts.addFirst(name + (isClosed ? " is closed" : " is open"));
        } finally {
            lock.unlock();
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

    @Override
    public String toString() {
        return name;
    }
}
