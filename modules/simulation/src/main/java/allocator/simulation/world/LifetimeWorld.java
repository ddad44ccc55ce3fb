package allocator.simulation.world;

import allocator.runtime.Environment;
import allocator.runtime.ManagedAllocator;
import allocator.runtime.Run;
import allocator.runtime.RunOptions;
import allocator.runtime.Session;
import allocator.runtime.SessionOptions;
import allocator.runtime.StillInUseException;
import allocator.simulation.Op;
import allocator.simulation.World;
import allocator.simulation.schedule.Scheduler;
import allocator.simulation.world.OwnedBlocks.Owned;
import allocator.spi.Allocator;
import allocator.spi.AllocatorClosedException;
import allocator.spi.AllocatorStats;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryLocation;
import allocator.spi.SpiLevel;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;

/**
 * What ends while other threads use it: one session and one allocator of the application at a time. All threads open,
 * use and close the session, and register, use and unregister the allocator. The application destroys what it has
 * unregistered, and no call may meet that; a run has the allocators of its session to its end.
 */
public final class LifetimeWorld implements World {
    private static final MemoryLocation LOCATION = SimulatedDevice.INFO.location();

    private final Model model = new Model();
    private final OwnedBlocks<ManagedAllocator> blocks = new OwnedBlocks<>(model);
    private final SimulatedDevice device;
    private final SimulatedProvider provider;
    private final Environment environment;
    private final int largest;

    /** Whether sessions use the allocator of the application where one is registered. */
    private final boolean isShared;

    /** All that were registered, in their order. */
    private final List<Registered> registered = new ArrayList<>();

    /** The session opened last; null if none was. */
    private Handle latest;

    private final List<Handle> sessions = new ArrayList<>();

    /** The device as an allocator of the application. */
    private final class Own implements Allocator {
        private boolean isDestroyed;

        @Override
        public long alloc(long byteSize) {
            requireAlive();
            final long address = device.alloc(byteSize);
            requireAlive();
            return address;
        }

        @Override
        public void free(long address) {
            requireAlive();
            device.free(address);
            requireAlive();
        }

        @Override
        public AllocatorStats stats() {
            requireAlive();
            device.call();
            requireAlive();
            return AllocatorStats.NONE;
        }

        private void requireAlive() {
            if (isDestroyed) {
                model.violate("an allocator was unregistered that is in use");
            }
        }

        @Override
        public MemoryInfo info() {
            return SimulatedDevice.INFO;
        }

        @Override
        public int spiLevel() {
            return SpiLevel.STATISTICS;
        }
    }

    /** An allocator of the application, and what the environment has made of it. */
    private record Registered(Own own, ManagedAllocator managed) {}

    /** A session as the model knows it. */
    private static final class Handle {
        private final Session session;
        private boolean isClosing;
        private boolean isClosed;

        Handle(Session session) {
            this.session = session;
        }
    }

    public LifetimeWorld(SplittableRandom random) {
        isShared = random.nextInt(4) == 0;
        largest = 1 << random.nextInt(8, 12);
        device = new SimulatedDevice(random.split(), model, Long.MAX_VALUE, Long.MAX_VALUE, 0);
        provider = new SimulatedProvider(device, model);
        environment = Environment.builder().modulePathProviders(false).build();
        environment.register(provider);
    }

    @Override
    public void perform(int thread, Op op) {
        switch (op.kind()) {
            case REPLACE -> replace();
            case ALLOC -> {
                if (!registered.isEmpty()) {
                    allocate(choose(op), op);
                }
            }
            case STATS -> {
                if (!registered.isEmpty()) {
                    readStats(choose(op));
                }
            }
            case FREE -> {
                final Owned<ManagedAllocator> owned = blocks.choose(op.a(), (block, owner) -> true);
                if (owned != null) {
                    free(owned);
                }
            }
            case RUN -> {
                if (latest == null || (latest.isClosed && op.b() % 4 > 0)) {
                    open();
                }
                if (latest != null) {
                    run(latest, op);
                }
            }
            case CLOSE -> {
                if (latest != null) {
                    close(latest);
                }
            }
            default -> throw new IllegalArgumentException(op.toString());
        }
        destroyUnregistered();
        model.requireNoViolation();
    }

    private void replace() {
        final ManagedAllocator found = environment.sharedAllocator(LOCATION).orElse(null);
        final boolean isRegistered = registered.stream().anyMatch(each -> each.managed.equals(found));
        try {
            if (isRegistered) {
                Scheduler.call(() -> environment.unregisterAllocator(LOCATION));
            } else {
                final Own own = new Own();
                Scheduler.call(() -> registered.add(new Registered(own, environment.registerAllocator(own))));
            }
        } catch (StillInUseException e) {
            // A block or a session needs what was to be unregistered or replaced.
        } catch (IllegalStateException e) {
            Model.require(isRegistered, "nothing was to be unregistered: " + e);
        } catch (Throwable e) {
            Model.requireSimulated(e, false);
        }
    }

    /** Destroys what the environment has given up, as it is not found any longer. */
    private void destroyUnregistered() {
        final ManagedAllocator found = environment.sharedAllocator(LOCATION).orElse(null);
        for (final Registered each : registered) {
            if (!each.managed.equals(found)) {
                each.own.isDestroyed = true;
                Model.require(blocks.count(each.managed) == 0, "an allocator was unregistered that has live blocks");
            }
        }
    }

    private static void readStats(ManagedAllocator owner) {
        try {
            Scheduler.call(() -> owner.stats());
        } catch (AllocatorClosedException e) {
            // It was unregistered.
        } catch (Throwable e) {
            Model.requireSimulated(e, false);
        }
    }

    /** Returns the allocator that was registered last, or now and then an earlier one. */
    private ManagedAllocator choose(Op op) {
        final int back = op.b() % 4 == 0 ? op.b() / 4 % registered.size() : 0;
        return registered.get(registered.size() - 1 - back).managed;
    }

    /** Allocates a block, and most often frees it at once: nothing is unregistered or released that has live blocks. */
    private void allocate(ManagedAllocator owner, Op op) {
        final long byteSize = 1L + op.a() % largest;
        final long address;
        try {
            address = Scheduler.call(() -> owner.alloc(byteSize));
        } catch (AllocatorClosedException e) {
            return; // it was unregistered, or is about to be
        } catch (Throwable e) {
            Model.requireSimulated(e, false);
            return;
        }
        enter(owner, op, address);
    }

    private void enter(ManagedAllocator owner, Op op, long address) {
        final long byteSize = 1L + op.a() % largest;
        blocks.allocated(address, byteSize, null, owner);
        if (op.a() / largest % 8 > 0) {
            free(new Owned<>(new Model.Block(address, byteSize, null), owner));
        }
    }

    private boolean free(Owned<ManagedAllocator> owned) {
        return blocks.free(owned, owned.owner()::free);
    }

    private void open() {
        final SessionOptions options = isShared
                ? SessionOptions.builder()
                        .option(SessionOptions.USE_ENV_ALLOCATORS.name(), "1")
                        .build()
                : SessionOptions.DEFAULT;
        try {
            Scheduler.call(() -> latest = new Handle(environment.openSession(options)));
        } catch (Throwable e) {
            Model.requireSimulated(e, false);
            return;
        }
        sessions.add(latest);
    }

    private static void close(Handle handle) {
        handle.isClosing = true;
        Model.attempt(() -> {
            handle.session.close();
            handle.isClosed = true;
        });
    }

    private void run(Handle handle, Op op) {
        final boolean wasClosed = handle.isClosed;
        try {
            Scheduler.call(() -> handle.session.run(RunOptions.DEFAULT, run -> {
                if (wasClosed) {
                    model.violate("a closed session runs");
                }
                work(handle, run, op);
            }));
        } catch (AllocatorClosedException e) {
            Model.require(handle.isClosing, "an open session is closed: " + e);
        } catch (Throwable e) {
            Model.requireSimulated(e, false);
        }
    }

    /**
     * Allocates now and then, which a session that closes rejects; reads what may be read until its allocators are
     * released.
     */
    private void work(Handle handle, Run run, Op op) {
        final ManagedAllocator owner = run.allocator();
        try {
            if (op.b() % 8 == 1) {
                enter(owner, op, owner.allocOnStream(1L + op.a() % largest, run.stream(0)));
            }
        } catch (AllocatorClosedException e) {
            if (!handle.isClosing) {
                model.violate("a run is rejected by its session: " + e);
            }
        }
        try {
            owner.effectiveOptions();
        } catch (AllocatorClosedException e) {
            model.violate("a run has lost the allocators of its session: " + e);
        }
    }

    @Override
    public void finish() {
        sessions.forEach(handle -> Scheduler.call(handle.session::close));
        blocks.matching((block, owner) -> true)
                .forEach(owned -> Model.require(free(owned), "a free fails on a device that works"));
        try {
            Scheduler.call(() -> environment.unregisterAllocator(LOCATION));
        } catch (StillInUseException e) {
            throw new AssertionError("nothing is in use", e);
        } catch (IllegalStateException e) {
            // None is registered.
        }
        Scheduler.call(environment::close);
        model.requireNoViolation();
        provider.requireClosed();
        Model.require(device.bytesOut() == 0, device.bytesOut() + " bytes are out after the close");
    }

    @Override
    public String toString() {
        return "sizes up to " + largest + (isShared ? ", sessions share" : "");
    }
}
