package allocator.simulation.world;

import allocator.cuda.driver.CudaAvailability;
import allocator.cuda.driver.CudaMemoryUsage;
import allocator.cuda.memory.CudaSyncStream;
import allocator.cuda.simulated.SimulatedCudaDriver;
import allocator.simulation.Op;
import allocator.simulation.World;
import allocator.simulation.schedule.Scheduler;
import allocator.simulation.world.OwnedBlocks.Owned;
import allocator.spi.Allocator;
import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorStats;
import allocator.spi.MemoryInfo;
import allocator.spi.OptionKey;
import allocator.spi.OutOfMemoryException;
import allocator.spi.ShrinkableAllocator;
import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncNotification;
import allocator.spi.SyncStream;
import allocator.spi.UnknownAllocatorException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.function.LongSupplier;

/**
 * The pools and the raw memory of the CUDA providers on a simulated device whose streams lag. All threads use a pool,
 * device memory and pinned memory; each has streams and pools of its own as well. Work that uses a block is queued on
 * its stream; the device detects memory that two streams use at once.
 */
public final class PoolWorld implements World {
    private static final int STREAMS = 2;

    /** An allocator, and the thread that alone uses it, -1 if all do. */
    private static final class User {
        private final Allocator allocator;
        private final int thread;
        private long allocs;
        private long failures;

        User(Allocator allocator, int thread) {
            this.allocator = allocator;
            this.thread = thread;
        }

        boolean isFor(int other) {
            return thread < 0 || thread == other;
        }
    }

    private final Model model = new Model();
    private final OwnedBlocks<User> blocks = new OwnedBlocks<>(model);
    private final SimulatedCudaDriver device;
    private final ScheduledDriver driver;
    private final PoolFactory factory;
    private final MemoryInfo memory;
    private final AllocatorOptions options;
    private final boolean mayFail;
    private final int largest;
    private final String description;

    /** The streams of the blocks that were allocated on one. The device itself checks their order. */
    private final Map<Long, SyncStream> onStream = new HashMap<>();

    private final User pool;
    private final List<User> shared = new ArrayList<>();
    private final Map<Integer, List<User>> own = new HashMap<>();
    private final List<Allocator> unreleased = new ArrayList<>();

    /** Whether a call has failed, so that a pool may hold what the device has not taken back. */
    private boolean hasFailed;

    /** Whether memory of a pool may be left to the close of the factory, as its creation or its release failed. */
    private boolean hasEndsLeft;

    private final Map<Integer, CudaSyncStream> streams = new HashMap<>();
    private final List<CudaSyncStream> closed = new ArrayList<>();

    public PoolWorld(SplittableRandom random) {
        largest = 1 << random.nextInt(10, 26);
        final long capacity = random.nextInt(3) == 0 ? 1L << random.nextInt(25, 29) : 16L << 30;
        final long limit = random.nextInt(3) == 0 ? 1L << random.nextInt(24, 29) : 0;
        final int[] rates = {0, 0, 0, 30, 8, 3};
        final int faultEvery = rates[random.nextInt(rates.length)];
        final int progressEvery = 1 << random.nextInt(6);
        mayFail = faultEvery > 0 || capacity < 16L << 30 || limit > 0;
        device = SimulatedCudaDriver.builder()
                .withMemory(capacity)
                .withLaggingStreams()
                .withoutContents()
                .build();
        driver = new ScheduledDriver(device, random.split(), model, progressEvery);
        factory = new PoolFactory(() -> new CudaAvailability.Available(driver));
        final List<MemoryInfo> memories =
                factory.discoverDevices().devices().getFirst().memoryInfos();
        memory = memories.getFirst();
        options = PoolFactory.options(random, limit);
        for (final MemoryInfo info : memories) {
            shared.add(new User(
                    factory.createAllocator(info, info.equals(memory) ? options : AllocatorOptions.EMPTY), -1));
        }
        pool = shared.getFirst();
        driver.failEvery(faultEvery);
        description = options + ", " + capacity + " bytes, sizes up to " + largest + ", a fault in " + faultEvery
                + " calls, progress in " + progressEvery;
    }

    @Override
    public void perform(int thread, Op op) {
        switch (op.kind()) {
            case ALLOC -> allocate(user(thread, op.b()), op, false);
            case RESERVE -> allocate(user(thread, op.b()), op, true);
            case ALLOC_ON_STREAM -> allocateOnStream(poolOf(thread, op.b()), op, streamOfAny(thread, op));
            case FREE -> {
                final Owned<User> owned = blocks.choose(op.a(), (block, user) -> user.isFor(thread));
                if (owned != null) {
                    free(owned);
                }
            }
            case USE -> use(thread, op);
            case END_RUN -> attempt(stream(thread, op.b())::onSessionRunEnd);
            case CLOSE_STREAM -> {
                final CudaSyncStream stream = streams.remove(key(thread, op.b()));
                if (stream != null) {
                    closed.add(stream);
                    attempt(stream::close);
                }
            }
            case WAIT -> await(stream(thread, op.b()), streams.get(key(op.a() % 4, op.a() / 4)));
            case SHRINK -> attempt(((ShrinkableAllocator) poolOf(thread, op.b()).allocator)::shrink);
            case STATS -> attempt(() -> verify(user(thread, op.b()).allocator.stats()));
            case OPEN -> open(thread, op.a() % 2 == 0);
            case CLOSE -> {
                final List<User> users = own.getOrDefault(thread, List.of());
                if (!users.isEmpty()) {
                    close(users.remove(op.a() % users.size()));
                }
            }
            default -> throw new IllegalArgumentException(op.toString());
        }
        model.requireNoViolation();
    }

    private User user(int thread, int choice) {
        final List<User> all = new ArrayList<>(shared);
        all.addAll(own.getOrDefault(thread, List.of()));
        return all.get(choice % all.size());
    }

    private User poolOf(int thread, int choice) {
        final List<User> users = own.getOrDefault(thread, List.of());
        final int number = choice % (1 + users.size());
        return number == 0 ? pool : users.get(number - 1);
    }

    private static int key(int thread, int choice) {
        return thread * STREAMS + choice % STREAMS;
    }

    /** Returns a stream of a thread; null if the device fails to make one. */
    private CudaSyncStream stream(int thread, int choice) {
        final CudaSyncStream known = streams.get(key(thread, choice));
        if (known != null) {
            return known;
        }
        final SyncStream[] made = new SyncStream[1];
        for (int attempt = 0; made[0] == null; attempt++) {
            if (attempt == 100) {
                driver.failEvery(0);
            }
            attempt(() -> made[0] = factory.createSyncStream(memory));
        }
        streams.put(key(thread, choice), (CudaSyncStream) made[0]);
        return (CudaSyncStream) made[0];
    }

    /** Returns a stream of the thread, or now and then one of another thread, which may close it at any time. */
    private CudaSyncStream streamOfAny(int thread, Op op) {
        final CudaSyncStream other = op.a() % 4 == 0 ? streams.get(key(op.a() / 4 % 4, op.b())) : null;
        return other == null ? stream(thread, op.b()) : other;
    }

    private void attempt(Runnable call) {
        try {
            Scheduler.call(call);
        } catch (Throwable e) {
            requireSimulated(e, false);
        }
    }

    private void requireSimulated(Throwable failure, boolean mayBeExhausted) {
        Model.requireSimulated(failure, mayBeExhausted);
        hasFailed |= Model.isSimulated(failure);
    }

    private void allocate(User user, Op op, boolean isReserve) {
        final long byteSize = 1L + op.a() % largest;
        allocate(
                user,
                byteSize,
                null,
                () -> isReserve ? user.allocator.reserve(byteSize) : user.allocator.alloc(byteSize));
    }

    private void allocateOnStream(User user, Op op, CudaSyncStream stream) {
        final long byteSize = 1L + op.a() % largest;
        allocate(user, byteSize, stream, () -> ((StreamAwareAllocator) user.allocator).allocOnStream(byteSize, stream));
    }

    private void allocate(User user, long byteSize, SyncStream stream, LongSupplier allocation) {
        final long address;
        try {
            address = Scheduler.call(allocation);
        } catch (OutOfMemoryException e) {
            user.failures++;
            requireSimulated(e, mayFail);
            return;
        } catch (Throwable e) {
            if (!(e instanceof IllegalStateException) || !closed.contains(stream)) {
                requireSimulated(e, false);
            }
            return;
        }
        user.allocs++;
        blocks.allocated(address, byteSize, null, user);
        if (stream != null) {
            onStream.put(address, stream);
        } else {
            onStream.remove(address);
        }
    }

    private boolean free(Owned<User> owned) {
        return blocks.free(owned, owned.owner().allocator::free);
    }

    /** Queues work that writes a block on its stream, or on any stream if it has none, and waits for it then. */
    private void use(int thread, Op op) {
        final CudaSyncStream stream = stream(thread, op.b());
        final Owned<User> owned = blocks.choose(
                op.a(),
                (block, user) -> user.isFor(thread)
                        && onStream.getOrDefault(block.address(), stream).equals(stream));
        if (owned == null) {
            return;
        }
        final Model.Block block = owned.block();
        device.memory().memsetD8Async(0, block.address(), (byte) 0, block.byteSize(), stream.handle());
        if (!onStream.containsKey(block.address())) {
            device.streams().streamSynchronize(0, stream.handle());
        }
    }

    private void await(CudaSyncStream consumer, CudaSyncStream producer) {
        if (producer == null) {
            return;
        }
        try {
            Scheduler.call(() -> {
                try (SyncNotification notification = producer.createNotification()) {
                    notification.activate();
                    notification.waitOnDevice(consumer);
                }
            });
        } catch (IllegalStateException e) {
            if (!closed.contains(producer)) {
                requireSimulated(e, false);
            }
        } catch (Throwable e) {
            requireSimulated(e, false);
        }
    }

    private void open(int thread, boolean isExclusive) {
        final AllocatorOptions wanted =
                isExclusive ? options.with(OptionKey.EXCLUSIVE.name(), "1", "simulation") : options;
        final Allocator[] made = new Allocator[1];
        try {
            Scheduler.call(() -> made[0] = factory.createAllocator(memory, wanted));
        } catch (Throwable e) {
            requireSimulated(e, mayFail);
            hasEndsLeft = true;
            return;
        }
        if (made[0].equals(pool.allocator)) {
            unreleased.add(made[0]); // another reference to the shared pool
        } else {
            own.computeIfAbsent(thread, key -> new ArrayList<>()).add(new User(made[0], thread));
        }
    }

    /** Releases a pool. Its live blocks go back to the device with it. */
    private void close(User user) {
        blocks.matching((block, other) -> other.equals(user)).forEach(blocks::forget);
        try {
            Scheduler.call(() -> factory.releaseAllocator(user.allocator));
        } catch (Throwable e) {
            requireSimulated(e, false);
            hasEndsLeft = true;
            unreleased.add(user.allocator);
        }
    }

    private void verify(AllocatorStats stats) {
        Model.require(stats.bytesInUse() <= stats.bytesHeld(), "more in use than held: " + stats);
        Model.require(stats.bytesInUse() <= stats.peakBytesInUse(), "more in use than ever: " + stats);
        Model.require(stats.bytesHeld() <= stats.peakBytesHeld(), "more held than ever: " + stats);
        Model.require(
                stats.limit() == AllocatorStats.UNLIMITED || hasFailed || stats.bytesHeld() <= stats.limit(),
                "more held than the limit: " + stats);
    }

    @Override
    public void finish() {
        driver.failEvery(0);
        Scheduler.call(() -> {
            streams.values().forEach(SyncStream::close);
            closed.forEach(SyncStream::close);
            shared.forEach(this::verify);
            own.values().forEach(users -> users.forEach(this::verify));
            verifyBytesHeld();
        });
        for (final Owned<User> owned : blocks.matching((block, user) -> true)) {
            Model.require(free(owned), "a free fails on a device that works");
        }
        own.values().forEach(users -> users.forEach(user -> unreleased.add(user.allocator)));
        Scheduler.call(() -> {
            unreleased.forEach(this::release);
            shared.forEach(this::verify);
            shared.forEach(user -> factory.releaseAllocator(user.allocator));
            Model.require(bytesOut() == 0 || hasEndsLeft, bytesOut() + " bytes are out, but nothing holds any");
            factory.close();
        });
        Model.require(
                device.controls().leaks().isEmpty(),
                "left over: " + device.controls().leaks());
        Model.require(
                device.controls().hazards().isEmpty(),
                "hazards: " + device.controls().hazards());
    }

    private void verify(User user) {
        if (user.allocator.as(ShrinkableAllocator.class).orElse(null) instanceof ShrinkableAllocator able) {
            able.shrink(); // returns what the device has not taken back
        }
        final AllocatorStats stats = user.allocator.stats();
        verify(stats);
        Model.require(
                stats.requestedBytesInUse() == blocks.bytes(user),
                blocks.bytes(user) + " bytes are live, not as in " + stats);
        Model.require(stats.numAllocs() == user.allocs, user.allocs + " allocations, not as in " + stats);
        Model.require(stats.numFailedAllocs() == user.failures, user.failures + " failed, not as in " + stats);
    }

    /** Returns what the device itself counts. */
    private long bytesOut() {
        final CudaMemoryUsage usage = device.memory().memGetInfo(0);
        return usage.totalByteSize() - usage.freeByteSize();
    }

    /** Requires that the device and the statistics count the same bytes, apart from the rounding of single blocks. */
    private void verifyBytesHeld() {
        final List<User> all = new ArrayList<>(shared);
        own.values().forEach(all::addAll);
        final long held = all.stream()
                .mapToLong(user -> user.allocator.stats().bytesHeld())
                .sum();
        final long unrounded =
                256L * shared.stream().mapToLong(user -> user.allocs).sum();
        Model.require(
                hasEndsLeft || (held <= bytesOut() && bytesOut() <= held + unrounded),
                bytesOut() + " bytes are out, and " + held + " are held");
    }

    /** Releases an allocator, unless the call that failed before has, and the close of the factory does the rest. */
    private void release(Allocator allocator) {
        try {
            factory.releaseAllocator(allocator);
        } catch (UnknownAllocatorException e) {
            hasEndsLeft = true;
        }
    }

    @Override
    public String toString() {
        return description;
    }
}
