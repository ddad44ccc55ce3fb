package allocator.runtime;

import allocator.runtime.AllocatorReport.Source;
import allocator.spi.Allocator;
import allocator.spi.AllocatorClosedException;
import allocator.spi.AllocatorException;
import allocator.spi.AllocatorOptions;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryLocation;
import allocator.spi.ShrinkReport;
import allocator.spi.UnsupportedMemoryException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The allocators of one workload, and its runs. Made by {@link Environment#openSession}.
 *
 * <p>Each memory of the session's devices has one allocator; where two devices offer the same memory the first device's
 * is used. Read-only memory is kept apart, for initializers.
 *
 * <p>Closing a session ends allocation at once. While a run is in progress or a block is live the session's allocators
 * stay, frees go on working, and the last of them releases the provider's allocators; until then the environment cannot
 * be closed and the providers cannot be unregistered.
 */
public final class Session implements AutoCloseable {
    /**
     * One allocator to be.
     *
     * @param provider who makes it; {@code null} if it exists already
     * @param info its memory
     * @param source how the session comes to it
     * @param requested the settings that the session wants
     * @param existing the reference to an allocator of the environment; {@code null} if it is to be made
     */
    record Part(
            @Nullable RegisteredProvider provider,
            MemoryInfo info,
            Source source,
            AllocatorOptions requested,
            @Nullable AllocatorReference existing) {
        String providerName() {
            return existing != null
                    ? existing.provider()
                    : Objects.requireNonNull(provider).name();
        }

        AllocatorReference reference() {
            return existing != null
                    ? existing
                    : Objects.requireNonNull(provider).create(info, requested);
        }
    }

    private final Environment environment;
    private final String name;
    private final List<ProviderDevice> devices;
    private final Set<String> providers;
    private final boolean reservesInitializers;
    private final ReentrantLock lock = new ReentrantLock();
    private final AtomicInteger unreleased = new AtomicInteger(1);
    private int activeRuns;
    private boolean isClosed;

    private volatile Map<MemoryLocation, ManagedAllocator> allocators = Map.of();
    private volatile Map<MemoryLocation, ManagedAllocator> readOnly = Map.of();
    private volatile Map<MemoryLocation, StreamPool> pools = Map.of();
    private volatile @Nullable ManagedAllocator defaultAllocator;
    private volatile List<String> notes = List.of();

    /**
     * Makes a session without allocators yet.
     *
     * @param providers the names of all providers that its allocators will come from
     */
    Session(
            Environment environment,
            String name,
            List<ProviderDevice> devices,
            Set<String> providers,
            boolean reservesInitializers) {
        this.environment = environment;
        this.name = name;
        this.devices = List.copyOf(devices);
        this.providers = Set.copyOf(providers);
        this.reservesInitializers = reservesInitializers;
    }

    /** Makes the allocators; all or none. The parts come in the order of the devices, read-only ones among them. */
    void open(
            List<Part> parts,
            Map<MemoryLocation, StreamPool> streamPools,
            List<String> reportNotes,
            UnaryOperator<Allocator> decorator) {
        final Failures failures = new Failures();
        final Map<MemoryLocation, ManagedAllocator> opened = new LinkedHashMap<>();
        final Map<MemoryLocation, ManagedAllocator> openedReadOnly = new LinkedHashMap<>();
        int next = 0;
        try {
            while (next < parts.size()) {
                final Part part = parts.get(next);
                next++;
                final ManagedAllocator allocator = open(part, decorator);
                failures.onUndo(allocator::close);
                (part.info().isReadOnly() ? openedReadOnly : opened)
                        .put(part.info().location(), allocator);
            }
        } catch (RuntimeException e) {
            parts.subList(next, parts.size()).stream()
                    .flatMap(part -> Stream.ofNullable(part.existing()))
                    .forEach(reference -> failures.onUndo(reference::release));
            throw failures.undo(e);
        }
        allocators = Collections.unmodifiableMap(opened);
        readOnly = Collections.unmodifiableMap(openedReadOnly);
        pools = Collections.unmodifiableMap(streamPools);
        notes = List.copyOf(reportNotes);
        defaultAllocator = devices.stream()
                .flatMap(device -> device.device().memoryInfos().stream())
                .filter(info -> !info.isReadOnly())
                .map(info -> opened.get(info.location()))
                .filter(Objects::nonNull)
                .findFirst()
                .orElse(null);
    }

    private ManagedAllocator open(Part part, UnaryOperator<Allocator> decorator) {
        final AllocatorReference reference = part.reference();
        final Failures failures = new Failures();
        failures.onUndo(reference::release);
        try {
            final Allocator target = decorator.apply(reference.allocator());
            if (!target.info().equals(reference.allocator().info())) {
                throw new IllegalArgumentException("the decorator of " + name + " answered with an allocator of "
                        + target.info() + " for " + reference.allocator().info());
            }
            final ManagedAllocator allocator =
                    new ManagedAllocator(reference, target, name, part.source(), part.requested(), this::onReleased);
            unreleased.incrementAndGet();
            return allocator;
        } catch (RuntimeException e) {
            throw failures.undo(e);
        }
    }

    private void onReleased() {
        if (unreleased.decrementAndGet() == 0) {
            environment.forget(this);
        }
    }

    /**
     * What the session is called in messages and reports.
     *
     * @return the name it was given, or one made of its number
     */
    public String name() {
        return name;
    }

    /**
     * The session's devices, the default one first.
     *
     * @return at least one
     */
    public List<ProviderDevice> devices() {
        return devices;
    }

    /**
     * The allocator of the default device's memory: its default memory, or else its host-accessible memory.
     *
     * @return the allocator
     * @throws UnsupportedMemoryException if no device of the session has memory
     */
    public ManagedAllocator allocator() {
        final ManagedAllocator allocator = defaultAllocator;
        if (allocator == null) {
            throw new UnsupportedMemoryException(
                    "No requested allocator available: the devices of " + name + " offer no memory");
        }
        return allocator;
    }

    /**
     * The allocator of a memory.
     *
     * @param location where the memory is
     * @return the allocator, or empty if the session has none there
     */
    public Optional<ManagedAllocator> allocator(MemoryLocation location) {
        Objects.requireNonNull(location, "location");
        return Optional.ofNullable(allocators.get(location));
    }

    /**
     * The session's allocators, without those of read-only memory.
     *
     * @return one for each memory, in the order of the devices
     */
    public List<ManagedAllocator> allocators() {
        return List.copyOf(allocators.values());
    }

    /**
     * The allocator for data of a memory that is written once and then read: that of the read-only memory if the device
     * has some, otherwise the normal one.
     *
     * @param location where the memory is
     * @return the allocator, or empty if the session has none there
     */
    public Optional<ManagedAllocator> initializerAllocator(MemoryLocation location) {
        final ManagedAllocator reading = readOnly.get(location);
        return reading != null ? Optional.of(reading) : allocator(location);
    }

    /**
     * Allocates memory for an initializer on the default device, in the memory of {@link #initializerAllocator}: by
     * {@link ManagedAllocator#reserve} if {@link SessionOptions#USE_DEVICE_ALLOCATOR_FOR_INITIALIZERS} is set,
     * otherwise by {@link ManagedAllocator#alloc}.
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
     * Does work with this session's allocators, and with streams that nobody else uses meanwhile.
     *
     * <p>When the work is done, or has thrown, the run's streams are synchronized, and then the arenas named by
     * {@link RunOptions#SHRINK_KEY} are shrunk. That list is checked completely before the work begins. A shrink that
     * fails is reported and logged, since the work is not affected by it; a stream that fails to synchronize makes the
     * run fail. Runs may go on side by side, and memory may outlive its run.
     *
     * @param options how the run ends
     * @param work what to do; called once, by the calling thread
     * @param <X> what the work may throw
     * @return what the run did besides its work
     * @throws X what the work threw; failures of ending the run are suppressed in it
     * @throws allocator.spi.InvalidOptionException if the list of arenas names one that this session does not have; the
     *     work is not begun
     * @throws AllocatorClosedException if the session is closed
     * @throws allocator.spi.DeviceException if the device failed at the end of the run
     */
    public <X extends Exception> RunReport run(RunOptions options, RunWork<X> work) throws X {
        Objects.requireNonNull(options, "options");
        Objects.requireNonNull(work, "work");
        requireOpen();
        final List<ManagedArena> toShrink = ShrinkList.resolve(options.shrinkList(), arenas());
        final Run run = begin();
        try {
            work.execute(run);
        } catch (Throwable thrown) {
            final Failures failures = new Failures();
            end(run, options, toShrink, failures);
            failures.suppressIn(thrown);
            throw thrown;
        }
        final Failures failures = new Failures();
        final RunReport report = end(run, options, toShrink, failures);
        failures.throwIfAny();
        return report;
    }

    private List<ManagedArena> arenas() {
        return allocators.values().stream()
                .flatMap(allocator -> allocator.asArena().stream())
                .toList();
    }

    private Run begin() {
        lock.lock();
        try {
            requireOpenUnderLock();
            activeRuns++;
            return new Run(this);
        } finally {
            lock.unlock();
        }
    }

    private void requireOpen() {
        lock.lock();
        try {
            requireOpenUnderLock();
        } finally {
            lock.unlock();
        }
    }

    private void requireOpenUnderLock() {
        if (isClosed) {
            throw new AllocatorClosedException(name + " is closed");
        }
    }

    private RunReport end(Run run, RunOptions options, List<ManagedArena> toShrink, Failures failures) {
        final int streams = run.end(options.isSynchronized(), failures);
        final List<RunReport.Shrunk> shrunk = new ArrayList<>();
        toShrink.forEach(arena -> shrunk.add(shrink(arena)));
        if (isLastRunOfClosed()) {
            failures.attempt(this::finish);
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
     * Returns unused memory of an arena to its device, at any time, while runs go on. Any memory of the session may be
     * named, host-accessible memory included.
     *
     * @param location where the memory is
     * @return what went back and what stays
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
     * Where the session's allocators come from, and which of its settings are in force. Of a closed session only what
     * still waits for its last block is told.
     *
     * @return the report
     */
    public SessionReport report() {
        return new SessionReport(
                name,
                all().filter(allocator -> !allocator.isReleased())
                        .map(ManagedAllocator::report)
                        .toList(),
                notes);
    }

    private Stream<ManagedAllocator> all() {
        return Stream.concat(allocators.values().stream(), readOnly.values().stream());
    }

    /**
     * Blocks of this session that are live.
     *
     * @return how many; exact while nobody allocates or frees
     */
    public long liveBlocks() {
        return all().mapToLong(ManagedAllocator::liveBlocks).sum();
    }

    /**
     * Whether the session was closed. Its allocators may still wait for their last blocks.
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
     * Ends the session: nothing is allocated and no run begins any more. The providers' allocators are released at once
     * if no run is in progress and no block is live, otherwise by the last run that ends or block that is freed. Blocks
     * on the device to close streams and return memory. A second call does nothing.
     *
     * @throws AllocatorException if a provider failed to close a stream or to take its memory back; the session is
     *     closed all the same
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
        all().forEach(ManagedAllocator::refuseAllocations);
        if (isIdle) {
            finish();
        }
    }

    /** Streams first: closing one may still return memory to the arena that it is tied to. */
    private void finish() {
        final Failures failures = new Failures();
        new ArrayList<>(pools.values()).reversed().forEach(pool -> failures.attempt(pool::close));
        all().toList().reversed().forEach(allocator -> failures.attempt(allocator::close));
        onReleased();
        failures.throwIfAny();
    }

    /** Releases allocators whose blocks were freed through others. */
    void settle() {
        all().forEach(ManagedAllocator::settleIfInstanceIdle);
    }

    /** Whether this session depends on a provider. */
    boolean uses(String provider) {
        return providers.contains(provider);
    }

    /** What keeps the session, for a message. */
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
        all().flatMap(allocator -> allocator.describeLiveBlocks().stream()).forEach(parts::add);
        return String.join(", ", parts);
    }

    Optional<StreamPool> streamPool() {
        return pools.values().stream().findFirst();
    }

    Optional<StreamPool> streamPool(MemoryLocation location) {
        return Optional.ofNullable(pools.get(location));
    }

    @Override
    public String toString() {
        return name;
    }
}
