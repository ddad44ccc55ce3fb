package allocator.simulation.world;

import allocator.arena.ArenaConfig;
import allocator.arena.BfcArena;
import allocator.arena.ExtendStrategy;
import allocator.arena.PlacementPolicy;
import allocator.arena.bump.BumpAllocator;
import allocator.arena.bump.BumpConfig;
import allocator.simulation.Op;
import allocator.simulation.World;
import allocator.simulation.schedule.Failpoint;
import allocator.simulation.schedule.Scheduler;
import allocator.simulation.schedule.Task;
import allocator.spi.AllocatorClosedException;
import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorStats;
import allocator.spi.DeviceException;
import allocator.spi.OutOfMemoryException;
import allocator.spi.SyncStream;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.function.LongSupplier;

/**
 * An arena on a simulated device, with streams. Each thread has streams of its own; all threads free all blocks, and
 * any of them may close the arena.
 */
public final class ArenaWorld implements World {
    private static final int MOST_STREAMS = 4;

    private final Model model = new Model();
    private final SimulatedDevice device;
    private final ArenaSubject subject;
    private final String description;
    private final int largest;

    /** Streams of a thread. */
    private final int streamsEach;

    private final Map<Integer, SimulatedStream> streams = new HashMap<>();
    private final Map<Integer, Long> seenFailures = new HashMap<>();
    private long failures;

    /** Whether a program's operation has begun to close the arena. */
    private boolean isClosing;

    /** Whether such an operation has returned normally. */
    private boolean isClosed;

    /** Where the stack or the heap ends in the first close. */
    private final Failpoint atClose;

    private ArenaWorld(SplittableRandom random, boolean isBump) {
        largest = 1 << random.nextInt(8, 18);
        streamsEach = random.nextInt(4) > 0 ? 2 : MOST_STREAMS;
        final long limit = random.nextBoolean() ? 0 : 1L << random.nextInt(14, 20);
        final long capacity = random.nextInt(3) == 0 ? 1L << random.nextInt(14, 20) : Long.MAX_VALUE;
        final int[] rates = {0, 0, 0, 30, 8, 2};
        device = new SimulatedDevice(
                random.split(),
                model,
                capacity,
                limit == 0 ? Long.MAX_VALUE : limit,
                rates[random.nextInt(rates.length)]);
        if (isBump) {
            final BumpConfig config = bumpConfig(random);
            subject = new ArenaSubject.Bump(new BumpAllocator(device, config, limit, AllocatorOptions.EMPTY));
            description = config + ", " + device;
        } else {
            final ArenaConfig config = arenaConfig(random, limit);
            subject = new ArenaSubject.Bfc(new BfcArena(device.orderedByFlushes(streams.values()), config));
            description = config + ", " + device;
        }
        atClose = random.nextInt(3) > 0
                ? Failpoint.NONE
                : new Failpoint(
                        random.nextBoolean() ? Failpoint.Kind.HEAP : Failpoint.Kind.STACK,
                        1 + random.nextInt(1 << random.nextInt(1, 8)),
                        1 + random.nextInt(3));
    }

    /**
     * Opens an arena with best fit or quick fit.
     *
     * @param random decides about the settings
     * @return the arena
     */
    public static World bfc(SplittableRandom random) {
        return new ArenaWorld(random, false);
    }

    /**
     * Opens a bump allocator.
     *
     * @param random decides about the settings
     * @return the allocator
     */
    public static World bump(SplittableRandom random) {
        return new ArenaWorld(random, true);
    }

    /** Has arenas do outside any program what they do once in a process, which no schedule may depend on. */
    public static void rehearse() {
        final SplittableRandom random = new SplittableRandom(0);
        final SimulatedDevice device = new SimulatedDevice(random, new Model(), Long.MAX_VALUE, Long.MAX_VALUE, 0);
        for (final PlacementPolicy policy : List.of(PlacementPolicy.BEST_FIT, PlacementPolicy.QUICK_FIT)) {
            new BfcArena(device, arenaConfig(random, 0, policy)).close();
        }
        new BumpAllocator(device, bumpConfig(random), 0, AllocatorOptions.EMPTY).close();
    }

    private static ArenaConfig arenaConfig(SplittableRandom random, long limit) {
        return arenaConfig(random, limit, random.nextBoolean() ? PlacementPolicy.BEST_FIT : PlacementPolicy.QUICK_FIT);
    }

    private static ArenaConfig arenaConfig(SplittableRandom random, long limit, PlacementPolicy policy) {
        return new ArenaConfig(
                random.nextBoolean() ? ExtendStrategy.POWER_OF_TWO : ExtendStrategy.SAME_AS_REQUESTED,
                1 << random.nextInt(8, 16),
                1 << random.nextInt(8, 16),
                1 << random.nextInt(8, 16),
                1 << random.nextInt(8, 18),
                limit,
                policy,
                random.nextInt(1 << 14),
                1 + random.nextInt(3),
                random.nextBoolean());
    }

    private static BumpConfig bumpConfig(SplittableRandom random) {
        final long initial = 1L << random.nextInt(8, 14);
        return new BumpConfig(
                initial,
                random.nextBoolean() ? 0 : 1L << random.nextInt(8, 16),
                random.nextBoolean() ? 0 : initial << random.nextInt(4));
    }

    @Override
    public void perform(int thread, Op op) {
        final SimulatedStream stream = stream(thread, op.b());
        final long byteSize = 1L + op.a() % largest;
        switch (op.kind()) {
            case ALLOC -> allocate(byteSize, null, () -> subject.alloc(byteSize));
            case ALLOC_ON_STREAM -> allocate(byteSize, stream, () -> subject.allocOnStream(byteSize, stream));
            case RESERVE -> allocate(byteSize, null, () -> subject.reserve(byteSize));
            case FREE -> free(op.a());
            case END_RUN -> end(stream, () -> subject.endRun(stream));
            case CLOSE_STREAM -> {
                final boolean isReleased = end(stream, () -> subject.releaseStream(stream));
                model.closed(stream); // a call that failed may have had its effect
                if (isReleased) {
                    streams.remove(key(thread, op.b()));
                    stream.close();
                }
            }
            case WAIT -> await(stream, op.a());
            case SHRINK -> attempt(subject::shrink);
            case STATS -> readStats(thread);
            case CONTEND -> attempt(() -> subject.leaveMainLane(stream));
            case CLOSE -> {
                if (op.a() % 16 == 0) {
                    close();
                } else {
                    readStats(thread);
                }
            }
            default -> throw new IllegalArgumentException(op.toString());
        }
    }

    private int key(int thread, int choice) {
        return thread * MOST_STREAMS + choice % streamsEach;
    }

    /** Makes a stream wait for another one, or for all of them. */
    private void await(SimulatedStream stream, int choice) {
        if (choice % 8 == 0) {
            for (final SimulatedStream producer : List.copyOf(streams.values())) {
                attempt(() -> stream.waitFor(producer));
            }
        } else {
            final SimulatedStream producer = stream(choice % 4, choice / 4);
            attempt(() -> stream.waitFor(producer));
        }
    }

    private void readStats(int thread) {
        attempt(() -> verifyFailures(thread, subject.stats()));
    }

    private void close() {
        isClosing = true;
        model.expectReturns(true);
        try {
            Scheduler.call(subject::close);
        } catch (Throwable e) {
            Model.requireSimulated(e, false);
            return;
        }
        Model.require(device.bytesOut() == 0, device.bytesOut() + " bytes are out after the close");
        isClosed = true;
    }

    /** Requires that a failure is simulated, or that of a call on a closed arena. */
    private void requireExpected(Throwable e, boolean mayBeExhausted) {
        if (!isClosing || !(e instanceof AllocatorClosedException)) {
            Model.requireSimulated(e, mayBeExhausted);
        }
    }

    private SimulatedStream stream(int thread, int choice) {
        return streams.computeIfAbsent(key(thread, choice), key -> new SimulatedStream());
    }

    private void allocate(long byteSize, SyncStream stream, LongSupplier allocation) {
        final boolean wasClosed = isClosed;
        final long address;
        try {
            address = Scheduler.call(allocation);
        } catch (OutOfMemoryException e) {
            failures++;
            Model.requireSimulated(e, device.mayFail());
            return;
        } catch (Throwable e) {
            requireExpected(e, false);
            return;
        }
        Model.require(!wasClosed, "a closed arena allocates");
        if (!isClosing) {
            model.allocated(address, byteSize, stream);
        }
    }

    private void free(int choice) {
        final Model.Block block = model.remove(choice);
        if (block == null) {
            return;
        }
        try {
            Scheduler.call(() -> subject.free(block.address()));
        } catch (DeviceException e) {
            Model.requireSimulated(e, false); // the block is free, although the device has not taken its memory back
        } catch (Throwable e) {
            requireExpected(e, false);
            if (isClosing) {
                model.forgetFreed(block.address(), block.byteSize());
            } else {
                model.restore(block);
            }
        } finally {
            model.endFree(block);
        }
    }

    /** Unbinds a stream's memory; returns whether that has been done. */
    private boolean end(SyncStream stream, Runnable call) {
        model.beginEnd(stream);
        try {
            Scheduler.call(call);
            return true;
        } catch (Throwable e) {
            requireExpected(e, false);
            return !Model.isOfOwnCode(e);
        } finally {
            model.endEnd(stream);
        }
    }

    private void attempt(Runnable call) {
        try {
            Scheduler.call(call);
        } catch (Throwable e) {
            requireExpected(e, false);
        }
    }

    private void verifyFailures(int thread, AllocatorStats stats) {
        final long before = seenFailures.getOrDefault(thread, 0L);
        final long now = stats.numFailedAllocs();
        Model.require(before <= now, "failed allocations were " + before + " and are " + now);
        Model.require(now <= failures + 100, "failed allocations are " + now);
        seenFailures.put(thread, now);
    }

    @Override
    public void finish() {
        model.requireNoViolation();
        device.repair();
        if (isClosing) {
            endClose();
            return;
        }
        verify();
        if (atClose == Failpoint.NONE || isOpenAfterFailure()) {
            verify();
            for (final Model.Block block : model.removeAll()) {
                subject.free(block.address());
            }
            subject.verify();
            Model.require(subject.stats().bytesInUse() == 0, "nothing is live, not as in " + subject.stats());
        }
        subject.close();
        model.requireNoViolation();
        Model.require(device.bytesOut() == 0, device.bytesOut() + " bytes are out after the close");
    }

    /** Closes once more, as the first close may have failed. */
    private void endClose() {
        Model.require(subject.isWhollyOpenOrClosed(), "a close that failed has closed some lanes");
        subject.close();
        model.requireNoViolation();
        Model.require(device.bytesOut() == 0, device.bytesOut() + " bytes are out after the last close");
    }

    private void verify() {
        subject.verify();
        final AllocatorStats stats = subject.stats();
        Model.require(
                stats.requestedBytesInUse() == model.liveBytes(),
                model.liveBytes() + " bytes are live, not as in " + stats);
        Model.require(stats.numAllocs() == model.allocs(), model.allocs() + " allocations, not as in " + stats);
        Model.require(stats.bytesHeld() == device.bytesOut(), device.bytesOut() + " bytes are out, not as in " + stats);
        Model.require(stats.numFailedAllocs() == failures, failures + " requests failed, not as in " + stats);
    }

    /** Closes with live blocks where the stack or the heap ends. An allocator that is open after all has its memory. */
    private boolean isOpenAfterFailure() {
        model.expectReturns(true);
        final Task task = Scheduler.current();
        task.begin(atClose);
        try {
            Scheduler.call(subject::close);
        } catch (Throwable e) {
            Model.requireSimulated(e, false);
        } finally {
            task.end();
            model.expectReturns(false);
        }
        Model.require(subject.isWhollyOpenOrClosed(), "a close that failed has closed some lanes");
        try {
            subject.shrink();
            return true;
        } catch (AllocatorClosedException e) {
            model.removeAll();
            return false;
        }
    }

    @Override
    public String toString() {
        return description + ", sizes up to " + largest;
    }
}
