package allocator.simulation.world;

import allocator.arena.ArenaConfig;
import allocator.arena.BfcArena;
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
import allocator.spi.OutOfMemoryException;
import allocator.spi.SyncStream;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.function.IntSupplier;
import java.util.function.LongSupplier;

/**
 * An arena on a simulated device, or on pages of it, with streams. Each thread has streams of its own; all threads free
 * all blocks, and any of them may close the arena.
 */
public final class ArenaWorld implements World {
    private static final int MOST_STREAMS = 4;

    private final Model model;

    /** The same of an arena on pages, otherwise {@code null}. */
    private final PagedModel paged;

    private final SimulatedDevice device;
    private final ArenaSubject subject;
    private final String description;
    private final int largest;

    /** Streams of a thread. */
    private final int streamsEach;

    private final Map<Integer, SimulatedStream> streams = new HashMap<>();

    /** All streams that there have been. */
    private final List<SimulatedStream> allStreams = new ArrayList<>();

    /** Returns how many steps the work of a stream takes. */
    private final IntSupplier lag;

    /** Whether the stack or the heap may have ended in a call. */
    private boolean hasFailpoints;

    private final Map<Integer, Long> seenFailures = new HashMap<>();
    private long failures;

    /** Whether a program's operation has begun to close the arena. */
    private boolean isClosing;

    /** Whether such an operation has returned normally. */
    private boolean isClosed;

    /** Where the stack or the heap ends in the first close. */
    private final Failpoint atClose;

    private enum Kind {
        BFC,
        BUMP,
        PAGES
    }

    private ArenaWorld(SplittableRandom random, Kind kind) {
        largest = 1 << random.nextInt(8, 18);
        streamsEach = kind == Kind.PAGES ? 1 + random.nextInt(2) : random.nextInt(4) > 0 ? 2 : MOST_STREAMS;
        final long limit = random.nextBoolean() ? 0 : 1L << random.nextInt(14, 20);
        final long capacity = random.nextInt(3) == 0 ? 1L << random.nextInt(14, 20) : Long.MAX_VALUE;
        final int[] rates = {0, 0, 0, 30, 8, 2};
        final SplittableRandom ofDevice = random.split();
        final long most = limit == 0 ? Long.MAX_VALUE : limit;
        paged = kind == Kind.PAGES ? new PagedModel(1 + random.nextInt(60), most, allStreams) : null;
        model = paged == null ? new Model() : paged;
        device = new SimulatedDevice(
                ofDevice, model, paged == null ? capacity : Long.MAX_VALUE, most, rates[random.nextInt(rates.length)]);
        lag = lag(random.split(), random.nextInt(12));
        if (kind == Kind.BUMP) {
            final BumpConfig bump = ArenaSettings.bump(random);
            subject = ArenaSubject.of(new BumpAllocator(device, bump, limit, AllocatorOptions.EMPTY));
            description = bump + ", " + device;
        } else if (paged == null) {
            final ArenaConfig config = ArenaSettings.arena(random, limit);
            subject = ArenaSubject.of(new BfcArena(device.orderedByFlushes(streams.values()), config));
            description = config + ", " + device;
        } else {
            final ArenaConfig config = ArenaSettings.paged(random, limit);
            subject = ArenaSubject.of(BfcArena.onPages(device, paged.pages().on(device), config));
            description = config + ", " + device + ", pages " + paged.pages().capacityBytes() / SimulatedPages.PAGE;
        }
        atClose = random.nextInt(3) > 0
                ? Failpoint.NONE
                : new Failpoint(1 + random.nextInt(1 << random.nextInt(1, 8)), 1 + random.nextInt(3));
    }

    /** Opens an arena with best fit or slabs. */
    public static World bfc(SplittableRandom random) {
        return new ArenaWorld(random, Kind.BFC);
    }

    /** Opens a bump allocator. */
    public static World bump(SplittableRandom random) {
        return new ArenaWorld(random, Kind.BUMP);
    }

    /** Opens an arena on pages, with streams that lag. */
    public static World pages(SplittableRandom random) {
        return new ArenaWorld(random, Kind.PAGES);
    }

    /** Returns how many steps work takes, up to a power of two of them. */
    private static IntSupplier lag(SplittableRandom random, int mostDigits) {
        return () -> 1 + random.nextInt(1 << mostDigits);
    }

    @Override
    public void perform(int thread, Op op) {
        hasFailpoints |= !op.failpoint().equals(Failpoint.NONE);
        final SimulatedStream stream = stream(thread, op.b());
        final long byteSize = 1L + op.a() % largest;
        switch (op.kind()) {
            case ALLOC -> allocate(byteSize, null, false, () -> subject.memory().alloc(byteSize));
            case ALLOC_ON_STREAM ->
                allocate(byteSize, stream, false, () -> subject.memory().allocOnStream(byteSize, stream));
            case RESERVE ->
                allocate(byteSize, null, true, () -> subject.memory().reserve(byteSize));
            case FREE -> free(op.a());
            case END_RUN -> end(stream, () -> subject.endRun().accept(stream));
            case CLOSE_STREAM -> {
                if (paged != null) {
                    close(stream);
                }
                final boolean isReleased =
                        end(stream, () -> subject.releaseStream().accept(stream));
                model.closed(stream); // a call that failed may have had its effect
                if (isReleased || paged != null) {
                    streams.remove(key(thread, op.b()));
                    stream.close();
                }
            }
            case WAIT -> await(stream, op.a());
            case SHRINK -> attempt(subject.shrink());
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

    /** Closes a stream, whose memory is free for others once its work is done, before it is released. */
    private void close(SimulatedStream stream) {
        paged.beginClose(stream);
        attempt(stream::drainAndClose);
        paged.endClose(stream);
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
            Scheduler.call(subject.close());
        } catch (Throwable e) {
            Model.requireSimulated(e, false);
            return;
        }
        requireNothingOut("the close");
        isClosed = true;
    }

    /** Requires that a failure is simulated, or that of a call on a closed arena. */
    private void requireExpected(Throwable e, boolean mayBeExhausted) {
        if (!isClosing || !(e instanceof AllocatorClosedException)) {
            Model.requireSimulated(e, mayBeExhausted);
        }
    }

    private SimulatedStream stream(int thread, int choice) {
        return streams.computeIfAbsent(key(thread, choice), key -> {
            final SimulatedStream stream = paged == null ? new SimulatedStream() : SimulatedStream.lagging(lag);
            allStreams.add(stream);
            return stream;
        });
    }

    private void allocate(long byteSize, SyncStream stream, boolean isReserve, LongSupplier allocation) {
        if (paged == null) {
            allocate(byteSize, stream, null, allocation);
            return;
        }
        final PagedModel.Request request = paged.begin(byteSize, isReserve);
        allocate(byteSize, stream, request, allocation);
        paged.end(request);
    }

    private void allocate(long byteSize, SyncStream stream, PagedModel.Request request, LongSupplier allocation) {
        final boolean wasClosed = isClosed;
        final long address;
        try {
            address = Scheduler.call(allocation);
        } catch (OutOfMemoryException e) {
            failures++;
            if (request == null) {
                Model.requireSimulated(e, device.mayFail());
            } else if (!device.hasFaults() && !hasFailpoints) {
                paged.requireShortage(request, e);
            }
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
            Scheduler.call(() -> subject.memory().free(block.address()));
        } catch (Throwable e) {
            requireExpected(e, false);
            if (isClosing) {
                model.forget(block);
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
        if (atClose.equals(Failpoint.NONE) || isOpenAfterFailure()) {
            verify();
            for (final Model.Block block : model.removeAll()) {
                subject.memory().free(block.address());
            }
            subject.verify();
            Model.require(subject.stats().bytesInUse() == 0, "nothing is live, not as in " + subject.stats());
        }
        subject.close().run();
        model.requireNoViolation();
        requireNothingOut("the close");
    }

    private void requireNothingOut(String after) {
        Model.require(device.bytesWithUsers() == 0, device.bytesWithUsers() + " bytes are out after " + after);
        if (paged != null) {
            paged.pages().requireEmpty();
        }
    }

    /** Closes once more, as the first close may have failed. */
    private void endClose() {
        Model.require(subject.isWhollyOpenOrClosed(), "a close that failed has closed some lanes");
        subject.close().run();
        model.requireNoViolation();
        requireNothingOut("the last close");
    }

    private void verify() {
        subject.verify();
        final AllocatorStats stats = subject.stats();
        Model.require(
                stats.requestedBytesInUse() == model.liveBytes(),
                model.liveBytes() + " bytes are live, not as in " + stats);
        Model.require(stats.numAllocs() == model.allocs(), model.allocs() + " allocations, not as in " + stats);
        final long out = device.bytesOut() + (paged == null ? 0 : paged.pages().bytesOut());
        Model.require(stats.bytesHeld() == out, out + " bytes are out, not as in " + stats);
        Model.require(stats.numFailedAllocs() == failures, failures + " requests failed, not as in " + stats);
    }

    /** Closes with live blocks where the stack or the heap ends. An allocator that is open after all has its memory. */
    private boolean isOpenAfterFailure() {
        model.expectReturns(true);
        final Task task = Scheduler.current();
        task.begin(atClose);
        try {
            Scheduler.call(subject.close());
        } catch (Throwable e) {
            Model.requireSimulated(e, false);
        } finally {
            task.end();
            model.expectReturns(false);
        }
        Model.require(subject.isWhollyOpenOrClosed(), "a close that failed has closed some lanes");
        try {
            subject.shrink().run();
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
