package allocator.simulation.world;

import allocator.cpu.reference.CpuReferenceFactory;
import allocator.simulation.Op;
import allocator.simulation.World;
import allocator.simulation.schedule.Scheduler;
import allocator.simulation.world.OwnedBlocks.Owned;
import allocator.spi.Allocator;
import allocator.spi.AllocatorOptions;
import allocator.spi.EpFactory;
import allocator.spi.MemoryInfo;
import allocator.spi.OptionKey;
import allocator.spi.OutOfMemoryException;
import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncStream;
import allocator.spi.UnknownAllocatorException;
import java.lang.reflect.Constructor;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;

/**
 * The host provider with sessions of several threads, above a simulated heap. Each thread opens and closes allocators
 * of its own or a share of the common one, with streams of its own; nothing that one thread does disturbs another.
 */
public final class ProviderWorld implements World {
    private final Model model = new Model();
    private final OwnedBlocks<Session> blocks = new OwnedBlocks<>(model);
    private final SimulatedDevice heap;
    private final EpFactory factory;
    private final MemoryInfo info;
    private final AllocatorOptions shared;
    private final String description;
    private final Map<Integer, List<Session>> sessions = new HashMap<>();
    private final Map<Integer, SyncStream> streams = new HashMap<>();
    private final List<SyncStream> closed = new ArrayList<>();
    private final List<Allocator> unreleased = new ArrayList<>();

    /** An allocator as one user has it. */
    private static final class Session {
        private final StreamAwareAllocator allocator;

        Session(Allocator allocator) {
            this.allocator = (StreamAwareAllocator) allocator;
        }
    }

    public ProviderWorld(SplittableRandom random) {
        shared = AllocatorOptions.of(Map.of(
                "arena.kind",
                random.nextBoolean() ? "bfc" : "bump",
                "arena.initial_chunk_size_bytes",
                Long.toString(1L << random.nextInt(12, 18))));
        final int[] rates = {0, 0, 0, 30, 8, 3};
        heap = new SimulatedDevice(
                random.split(), model, Long.MAX_VALUE, Long.MAX_VALUE, rates[random.nextInt(rates.length)]);
        factory = factory(heap);
        info = factory.discoverDevices().devices().getFirst().defaultMemory().orElseThrow();
        description = shared + ", " + heap;
    }

    /** Creates the provider on a heap, which its tests alone can choose. */
    private static EpFactory factory(SimulatedDevice heap) {
        try {
            final Class<?> type = Class.forName("allocator.cpu.reference.Heap");
            final Constructor<CpuReferenceFactory> constructor = CpuReferenceFactory.class.getDeclaredConstructor(type);
            constructor.setAccessible(true);
            return constructor.newInstance(Proxy.newProxyInstance(
                    type.getClassLoader(), new Class<?>[] {type}, (proxy, method, arguments) -> {
                        if (method.isDefault()) {
                            return null; // prepares what the host's heap needs
                        }
                        if (method.getName().equals("allocate")) {
                            return take(heap, (long) arguments[1]);
                        }
                        heap.takeBackOrFail((long) arguments[0]);
                        return null;
                    }));
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException("the host provider cannot be created on another heap", e);
        }
    }

    private static long take(SimulatedDevice heap, long byteSize) {
        try {
            return heap.alloc(byteSize);
        } catch (OutOfMemoryException e) {
            return 0;
        }
    }

    @Override
    public void perform(int thread, Op op) {
        final List<Session> own = sessions.computeIfAbsent(thread, key -> new ArrayList<>());
        switch (op.kind()) {
            case OPEN -> open(own, op.a() % 2 == 0);
            case CLOSE -> {
                if (!own.isEmpty()) {
                    close(own.remove(op.a() % own.size()));
                }
            }
            case END_RUN -> Model.attempt(stream(thread)::onSessionRunEnd);
            case CLOSE_STREAM -> {
                final SyncStream stream = streams.remove(thread);
                if (stream != null) {
                    closed.add(stream);
                    Model.attempt(stream::close);
                }
            }
            case ALLOC_ON_STREAM, FREE, STATS -> {
                if (!own.isEmpty()) {
                    use(own.get(op.a() % own.size()), op, stream(thread));
                }
            }
            default -> throw new IllegalArgumentException(op.toString());
        }
        model.requireNoViolation();
    }

    private SyncStream stream(int thread) {
        SyncStream stream = streams.get(thread);
        while (stream == null) {
            final SyncStream[] made = new SyncStream[1];
            Model.attempt(() -> made[0] = factory.createSyncStream(info));
            stream = made[0];
        }
        streams.put(thread, stream);
        return stream;
    }

    private void open(List<Session> own, boolean isExclusive) {
        final AllocatorOptions options =
                isExclusive ? shared.with(OptionKey.EXCLUSIVE.name(), "1", "simulation") : shared;
        final Allocator[] made = new Allocator[1];
        Model.attempt(() -> made[0] = factory.createAllocator(info, options));
        if (made[0] != null) {
            own.add(new Session(made[0]));
        }
    }

    /** Frees the blocks of a session, and releases it. */
    private void close(Session session) {
        for (final Owned<Session> owned : blocks.matching((block, owner) -> owner.equals(session))) {
            if (!free(owned)) {
                blocks.forget(owned);
            }
        }
        try {
            Scheduler.call(() -> factory.releaseAllocator(session.allocator));
        } catch (Throwable e) {
            Model.requireSimulated(e, false);
            unreleased.add(session.allocator);
        }
    }

    private void use(Session session, Op op, SyncStream stream) {
        switch (op.kind()) {
            case ALLOC_ON_STREAM -> allocate(session, 1L + op.b() % 40_000, stream);
            case FREE -> {
                final Owned<Session> owned = blocks.choose(op.b(), (block, owner) -> owner.equals(session));
                if (owned != null) {
                    free(owned);
                }
            }
            default -> Model.attempt(session.allocator::stats);
        }
    }

    /** Allocates a block. The streams of the host have no work, so that freed memory serves all of them at once. */
    private void allocate(Session session, long byteSize, SyncStream stream) {
        final long address;
        try {
            address = Scheduler.call(() -> session.allocator.allocOnStream(byteSize, stream));
        } catch (Throwable e) {
            Model.requireSimulated(e, heap.mayFail());
            return;
        }
        blocks.allocated(address, byteSize, null, session);
    }

    private boolean free(Owned<Session> owned) {
        return blocks.free(owned, owned.owner().allocator::free);
    }

    @Override
    public void finish() {
        heap.repair();
        sessions.values().forEach(own -> own.forEach(this::close));
        Scheduler.call(() -> {
            unreleased.forEach(this::release);
            streams.values().forEach(SyncStream::close);
            closed.forEach(SyncStream::close);
            factory.close();
        });
        model.requireNoViolation();
        Model.require(heap.bytesOut() == 0, heap.bytesOut() + " bytes are out after the close");
    }

    /** Releases an allocator, unless the call that failed before has, and the close of the factory does the rest. */
    private void release(Allocator allocator) {
        try {
            factory.releaseAllocator(allocator);
        } catch (UnknownAllocatorException e) {
            // It was released before.
        }
    }

    @Override
    public String toString() {
        return description;
    }
}
