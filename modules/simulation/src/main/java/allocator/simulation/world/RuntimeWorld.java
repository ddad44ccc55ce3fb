package allocator.simulation.world;

import allocator.runtime.Environment;
import allocator.runtime.ManagedAllocator;
import allocator.runtime.ProviderDevice;
import allocator.runtime.RunOptions;
import allocator.runtime.Session;
import allocator.runtime.SessionOptions;
import allocator.runtime.StillInUseException;
import allocator.simulation.Op;
import allocator.simulation.World;
import allocator.simulation.schedule.Scheduler;
import allocator.simulation.world.OwnedBlocks.Owned;
import allocator.spi.AllocatorClosedException;
import allocator.spi.AllocatorException;
import allocator.spi.AllocatorOptions;
import allocator.spi.InvalidOptionException;
import allocator.spi.MemoryLocation;
import allocator.spi.OutOfMemoryException;
import allocator.spi.SyncStream;
import allocator.spi.UnsupportedMemoryException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.function.LongSupplier;
import java.util.stream.Stream;

/**
 * An environment with a provider of arenas on a simulated device. All threads open, use and close all sessions, which
 * share allocators with the environment, with one another, or with none.
 */
public final class RuntimeWorld implements World {
    private static final MemoryLocation LOCATION = SimulatedDevice.INFO.location();

    /** A session, or the environment where there is none, as the model knows it. */
    private static final class Handle {
        private final Session session;
        private boolean isClosing;
        private boolean isClosed;

        Handle(Session session) {
            this.session = session;
        }
    }

    private final Model model = new Model();
    private final OwnedBlocks<ManagedAllocator> blocks = new OwnedBlocks<>(model);
    private final SimulatedDevice device;
    private final SimulatedProvider provider;
    private final Environment environment;
    private final ProviderDevice providerDevice;
    private final List<Handle> sessions = new ArrayList<>();

    /** All that blocks were allocated from outside runs. */
    private final List<ManagedAllocator> owners = new ArrayList<>();

    private final String settings;
    private final int largest;

    /** The streams of the runs in progress. */
    private final Set<SyncStream> inUse = new HashSet<>();

    /** Whether blocks are freed through other owners of the same instance, too. */
    private final boolean isMixed;

    /** What {@link Environment#registerAllocator} has returned, and whether it is registered still. */
    private final Map<ManagedAllocator, Boolean> registered = new HashMap<>();

    private final boolean isFaulty;
    private final boolean mayFail;
    private final String description;

    public RuntimeWorld(SplittableRandom random) {
        largest = 1 << random.nextInt(8, 16);
        isMixed = random.nextInt(4) == 0;
        final int[] rates = {0, 0, 0, 30, 8, 4};
        final int faultEvery = rates[random.nextInt(rates.length)];
        final long capacity = random.nextInt(4) == 0 ? 1L << random.nextInt(15, 20) : Long.MAX_VALUE;
        isFaulty = faultEvery > 0;
        mayFail = isFaulty || capacity < Long.MAX_VALUE;
        settings = Long.toString(1L << random.nextInt(8, 16));
        device = new SimulatedDevice(random.split(), model, capacity, Long.MAX_VALUE, 0);
        provider = new SimulatedProvider(device, model);
        environment = Environment.builder()
                .modulePathProviders(false)
                .option("ep_factory.simulated.arena.initial_chunk_size_bytes", settings)
                .build();
        environment.register(provider);
        providerDevice = environment.devices().getFirst();
        device.failEvery(faultEvery);
        description = device + ", chunks of " + settings + ", sizes up to " + largest
                + (isMixed ? ", owners free one another's blocks" : "");
    }

    @Override
    public void perform(int thread, Op op) {
        final Handle handle = handle(op.b());
        final long byteSize = 1L + op.a() % largest;
        switch (op.kind()) {
            case OPEN -> open(op);
            case CLOSE -> {
                if (handle != null) {
                    close(handle);
                }
            }
            case FREE -> free(op);
            case REPLACE -> replace(op);
            case ALLOC, RESERVE, ALLOC_ON_STREAM, RUN -> {
                if (handle == null) {
                    final ManagedAllocator shared =
                            environment.sharedAllocator(LOCATION).orElse(null);
                    if (shared != null) {
                        allocate(null, byteSize, shared, () -> shared.alloc(byteSize));
                    }
                } else {
                    use(handle, op, byteSize);
                }
            }
            case SHRINK -> inSession(handle, () -> handle.session.shrink(LOCATION), () -> environment.shrink(LOCATION));
            case STATS ->
                inSession(
                        handle,
                        () -> {
                            handle.session.report();
                            Model.require(handle.session.liveBlocks() >= 0, "less than no blocks are live");
                            handle.session.allocator().stats();
                        },
                        environment::providers);
            default -> throw new IllegalArgumentException(op.toString());
        }
        model.requireNoViolation();
    }

    /** Returns one of the sessions opened last, so that threads meet in it; null for the environment. */
    private Handle handle(int choice) {
        final List<Handle> last = sessions.reversed().subList(0, Math.min(sessions.size(), 2));
        final int number = choice % (2 * last.size() + 1);
        return number == 0 ? null : last.get((number - 1) % last.size());
    }

    private void open(Op op) {
        final SessionOptions.Builder options = SessionOptions.builder();
        switch (op.a() % 3) {
            case 0 -> options.option(SessionOptions.USE_ENV_ALLOCATORS.name(), "1");
            case 1 -> options.option("ep.simulated.arena.initial_chunk_size_bytes", settings);
            default -> {}
        }
        if (op.a() % 2 == 0) {
            options.option(SessionOptions.USE_DEVICE_ALLOCATOR_FOR_INITIALIZERS.name(), "1");
        }
        final SessionOptions built = options.build();
        final Session[] opened = new Session[1];
        try {
            Scheduler.call(() -> opened[0] = environment.openSession(built));
        } catch (Throwable e) {
            Model.requireSimulated(e, mayFail);
            return;
        }
        sessions.add(new Handle(opened[0]));
    }

    private static void close(Handle handle) {
        handle.isClosing = true;
        try {
            Scheduler.call(handle.session::close);
            handle.isClosed = true;
        } catch (AllocatorException e) {
            handle.isClosed = true;
            Model.requireSimulated(e, false);
        } catch (Throwable e) {
            Model.requireSimulated(e, false);
        }
    }

    private void use(Handle handle, Op op, long byteSize) {
        final Session session = handle.session;
        switch (op.kind()) {
            case ALLOC ->
                allocate(
                        handle,
                        byteSize,
                        session.allocator(),
                        () -> session.allocator().alloc(byteSize));
            case RESERVE ->
                allocate(
                        handle,
                        byteSize,
                        session.initializerAllocator(LOCATION).orElseThrow(),
                        () -> session.allocInitializer(byteSize));
            default -> run(handle, op, byteSize);
        }
    }

    private void allocate(Handle handle, long byteSize, ManagedAllocator owner, LongSupplier allocation) {
        final boolean wasClosed = handle != null && handle.isClosed;
        final long address;
        try {
            address = Scheduler.call(allocation);
        } catch (AllocatorClosedException e) {
            if (!registered.containsKey(owner)) {
                requireClosing(handle, e);
            }
            return;
        } catch (OutOfMemoryException e) {
            Model.requireSimulated(e, mayFail);
            return;
        } catch (Throwable e) {
            Model.requireSimulated(e, false);
            return;
        }
        Model.require(!wasClosed, "a closed session allocates");
        Model.require(registered.getOrDefault(owner, true), "an allocator that was unregistered allocates");
        owners.add(owner);
        blocks.allocated(address, byteSize, null, owner);
    }

    /** Requires that the runtime rejects a call, and not an allocator that it has released. */
    private static void requireClosing(Handle handle, AllocatorClosedException failure) {
        Model.require(handle == null || handle.isClosing, "an open session is closed: " + failure);
        final String owner = handle == null ? "environment" : handle.session.name();
        Model.require(failure.getMessage().endsWith(owner + " is closed"), "a released allocator is used: " + failure);
    }

    /** Runs a session: allocates on a stream, and frees the block in the run or leaves it. */
    private void run(Handle handle, Op op, long byteSize) {
        final RunOptions options =
                op.b() % 3 == 0 ? RunOptions.builder().shrink("gpu:0").build() : RunOptions.DEFAULT;
        try {
            Scheduler.call(() -> handle.session.run(options, run -> {
                final SyncStream stream = run.stream(op.b() % 2);
                if (!inUse.add(stream)) {
                    model.violate("two runs use " + stream);
                }
                try {
                    work(run.allocator(), op, byteSize, stream);
                } catch (AllocatorClosedException e) {
                    if (!handle.isClosing) {
                        model.violate("an open session rejects its run: " + e);
                    }
                } finally {
                    inUse.remove(stream);
                }
            }));
        } catch (AllocatorClosedException e) {
            requireClosing(handle, e);
        } catch (OutOfMemoryException e) {
            Model.requireSimulated(e, mayFail);
        } catch (InvalidOptionException e) {
            Model.require(!registered.isEmpty(), "an open session has no arena to shrink: " + e);
        } catch (Throwable e) {
            Model.requireSimulated(e, false);
        }
    }

    private void work(ManagedAllocator owner, Op op, long byteSize, SyncStream stream) {
        final long address = owner.allocOnStream(byteSize, stream);
        blocks.allocated(address, byteSize, null, owner);
        if (op.a() % 2 == 0) {
            free(new Owned<>(new Model.Block(address, byteSize, null), owner), owner);
        }
    }

    private void free(Op op) {
        final Owned<ManagedAllocator> owned = blocks.choose(op.a(), (block, owner) -> true);
        if (owned == null) {
            return;
        }
        ManagedAllocator through = owned.owner();
        if (isMixed && op.b() % 2 == 0 && !sessions.isEmpty()) {
            final ManagedAllocator other =
                    sessions.get(op.b() / 2 % sessions.size()).session.allocator();
            through = other.isSameInstanceAs(through) ? other : through;
        }
        free(owned, through);
    }

    /** Frees a block. Where owners free one another's blocks, one that seems to have none left may be gone. */
    private boolean free(Owned<ManagedAllocator> owned, ManagedAllocator through) {
        return blocks.free(owned, through::free, failure -> isMixed && failure instanceof AllocatorClosedException);
    }

    private void replace(Op op) {
        try {
            Scheduler.call(() -> {
                switch (op.a() % 6) {
                    case 0, 1 -> environment.releaseSharedAllocator(LOCATION);
                    case 2 -> register();
                    case 3, 4 -> unregister();
                    default ->
                        environment.createSharedAllocator(providerDevice, SimulatedDevice.INFO, AllocatorOptions.EMPTY);
                }
            });
        } catch (IllegalStateException e) {
            Model.require(
                    Model.isSimulated(e)
                            || environment.sharedAllocator(LOCATION).isEmpty()
                            || registered.containsValue(true),
                    "no replacement: " + e);
        } catch (Throwable e) {
            Model.requireSimulated(e, mayFail);
        }
    }

    /** Registers the device itself, unless its calls fail: what it does not take back then is the application's. */
    private void register() {
        if (!isFaulty) {
            registered.put(environment.registerAllocator(device), true);
        }
    }

    private void unregister() {
        final ManagedAllocator shared = environment.sharedAllocator(LOCATION).orElse(null);
        try {
            environment.unregisterAllocator(LOCATION);
        } catch (IllegalStateException e) {
            return; // none is registered, or it is in use
        }
        if (registered.containsKey(shared)) {
            registered.put(shared, false);
            Model.require(
                    blocks.matching((block, owner) -> owner.equals(shared)).isEmpty(),
                    "an allocator was unregistered that has live blocks");
        }
    }

    private void inSession(Handle handle, Runnable inSession, Runnable inEnvironment) {
        try {
            Scheduler.call(handle == null ? inEnvironment : inSession);
        } catch (AllocatorClosedException e) {
            requireClosing(handle, e);
        } catch (UnsupportedMemoryException e) {
            Model.require(handle == null || !registered.isEmpty(), "an open session has no arena: " + e);
        } catch (Throwable e) {
            Model.requireSimulated(e, false);
        }
    }

    @Override
    public void finish() {
        device.repair();
        if (model.liveBlocks() > 0 || sessions.stream().anyMatch(handle -> !handle.isClosing)) {
            try {
                Scheduler.call(environment::close);
                throw new AssertionError("the environment is closed, but sessions or blocks are live");
            } catch (StillInUseException e) {
                // as it must be
            }
        }
        for (final Handle handle : sessions) {
            Scheduler.call(handle.session::close);
        }
        for (final Owned<ManagedAllocator> owned : blocks.matching((block, owner) -> true)) {
            Model.require(
                    free(owned, owned.owner()) || (isMixed && freeThroughAny(owned)),
                    "a free fails on a device that works");
        }
        if (!isMixed) {
            for (final Handle handle : sessions) {
                Model.require(
                        handle.session.liveBlocks() == 0,
                        "no block is live, but " + handle.session.liveBlocks() + " of " + handle.session);
            }
        }
        Scheduler.call(environment::close);
        model.requireNoViolation();
        provider.requireClosed();
        Model.require(device.bytesOut() == 0, device.bytesOut() + " bytes are out after the close");
    }

    /** Frees a block through another owner of its instance, the environment among them. */
    private boolean freeThroughAny(Owned<ManagedAllocator> owned) {
        final Stream<ManagedAllocator> allocators = Stream.concat(
                sessions.stream().map(handle -> handle.session.allocator()),
                environment.sharedAllocator(LOCATION).stream());
        return Stream.concat(owners.stream(), allocators)
                .filter(owned.owner()::isSameInstanceAs)
                .anyMatch(other -> free(owned, other));
    }

    @Override
    public String toString() {
        return description;
    }
}
