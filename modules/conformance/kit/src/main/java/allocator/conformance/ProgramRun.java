package allocator.conformance;

import allocator.spi.Allocator;
import allocator.spi.AllocatorStats;
import allocator.spi.HostAccessibleAllocator;
import allocator.spi.OutOfMemoryException;
import allocator.spi.ShrinkReport;
import allocator.spi.ShrinkableAllocator;
import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncNotification;
import allocator.spi.SyncStream;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Runs a program on an allocator and compares each step with a model of true lifetimes.
 *
 * <p>The model knows which blocks are live, and which freed memory is still in flight: what was allocated on stream
 * {@code p} and freed when {@code p.syncId()} was {@code n} may be in use by queued work. Its bytes may go to {@code p}
 * at any time, and to a stream {@code q} once {@code q.lastWaitedSyncId(p) > n} (T-03). The end of a run, the close of
 * {@code p}, or a host that waited for {@code p} or for a stream that had, ends the flight (T-04, T-05). First
 * invariant: no two blocks, live or in flight, overlap, unless ordered.
 */
final class ProgramRun {
    private static final long PATTERN_BYTES = 2048;

    /** Memory that is live; {@code stream} is null where it was allocated without one. */
    private record Block(
            int number,
            long address,
            long byteSize,
            @Nullable SyncStream stream) {
        long end() {
            return address + byteSize;
        }

        @Override
        public String toString() {
            return "b" + number + " (" + byteSize + " bytes at " + Expect.hex(address)
                    + (stream == null ? "" : ", stream " + stream.id()) + ")";
        }
    }

    /** Freed memory that queued work of a stream may still use. */
    private record Flight(Block block, SyncStream stream, long stamp) {
        boolean overlaps(long address, long byteSize) {
            return block.address < address + byteSize && address < block.end();
        }

        boolean isOrderedBefore(@Nullable SyncStream user) {
            return Expect.same(user, stream) || (user != null && user.lastWaitedSyncId(stream) > stamp);
        }
    }

    private final Subject subject;
    private final Program program;
    private final Consumer<String> log;
    private final Allocator allocator;
    private final boolean counts;
    private final boolean isArena;
    private final Optional<Contents> contents;
    private final Deque<Allocator> references = new ArrayDeque<>();
    private final Map<Integer, Block> blocks = new HashMap<>();
    private final NavigableMap<Long, Block> live = new TreeMap<>();
    private final List<Flight> flights = new ArrayList<>();
    private final Map<Integer, SyncStream> streams = new HashMap<>();
    private final Map<Integer, SyncNotification> notifications = new HashMap<>();
    private final AllocatorStats first;
    private long requestedInUse;
    private long allocs;
    private long reserves;
    private long failures;
    private long highest;

    private ProgramRun(Subject subject, Program program, Consumer<String> log) {
        this.subject = subject;
        this.program = program;
        this.log = log;
        allocator = subject.allocator(program.options());
        counts = attempt("A-05", "alloc(1) with nothing live", () -> subject.counts(allocator));
        isArena = attempt("A-05", "alloc(1) with nothing live", () -> subject.isArena(allocator));
        contents = Contents.of(subject, allocator);
        first = counts ? allocator.stats() : AllocatorStats.NONE;
    }

    /**
     * Runs a program.
     *
     * @param log is told each step and what it returned
     * @throws RuleBroken at the first step that breaks a rule
     */
    static void run(Subject subject, Program program, Consumer<String> log) {
        final ProgramRun run = new ProgramRun(subject, program, log);
        for (int i = 0; i < program.steps().size(); i++) {
            final Op step = program.steps().get(i);
            try {
                run.step(step);
                run.checkStatistics();
            } catch (RuleBroken broken) {
                throw new RuleBroken(
                        broken.rule(),
                        "step " + (i + 1) + " (" + step + "): " + broken.getMessage(),
                        broken.getCause());
            }
        }
        try {
            run.end();
        } catch (RuleBroken broken) {
            throw new RuleBroken(broken.rule(), "after the last step: " + broken.getMessage(), broken.getCause());
        }
    }

    private void step(Op op) {
        switch (op) {
            case Op.Alloc alloc -> alloc(alloc);
            case Op.Reserve reserve -> {
                if (!blocks.containsKey(reserve.block())) {
                    allocate(
                            op,
                            reserve.block(),
                            reserve.byteSize(),
                            null,
                            true,
                            () -> allocator.reserve(reserve.byteSize()));
                }
            }
            case Op.Free free -> {
                final Block block = blocks.remove(free.block());
                if (block != null) {
                    free(block);
                }
            }
            case Op.Open open -> {
                if (!streams.containsKey(open.stream()) && allocator instanceof StreamAwareAllocator) {
                    streams.put(open.stream(), subject.stream());
                }
            }
            case Op.Close close ->
                onStream(close.stream(), stream -> {
                    attempt("T-05", "close of " + stream, asCall(stream::close));
                    streams.values().remove(stream);
                    land(stream);
                });
            case Op.Activate activate ->
                onStream(activate.stream(), stream -> {
                    final SyncNotification old = notifications.remove(activate.notification());
                    if (old != null) {
                        attempt("T-03", "close of a notification", asCall(old::close));
                    }
                    final SyncNotification created =
                            attempt("T-03", "createNotification on " + stream, stream::createNotification);
                    attempt("T-03", "activate on " + stream, asCall(created::activate));
                    notifications.put(activate.notification(), created);
                });
            case Op.Await await ->
                onStream(await.stream(), stream -> {
                    final SyncNotification notification = notifications.get(await.notification());
                    if (notification != null && !Expect.same(notification.stream(), stream)) {
                        attempt("T-03", "waitOnDevice", asCall(() -> notification.waitOnDevice(stream)));
                    }
                });
            case Op.Flush flush ->
                onStream(flush.stream(), stream -> {
                    attempt("T-03", "flush of " + stream, asCall(stream::flush));
                    land(stream);
                });
            case Op.RunEnd end ->
                onStream(end.stream(), stream -> {
                    attempt("T-04", "onSessionRunEnd of " + stream, asCall(stream::onSessionRunEnd));
                    land(stream);
                });
            case Op.Shrink _ -> shrink();
            case Op.Create _ ->
                references.push(attempt(
                        "F-04", "createAllocator of a further reference", () -> subject.allocator(program.options())));
            case Op.Release _ -> {
                if (!references.isEmpty()) {
                    attempt(
                            "F-04",
                            "releaseAllocator of a further reference",
                            asCall(() -> subject.release(references.pop())));
                }
            }
        }
    }

    private void alloc(Op.Alloc op) {
        if (blocks.containsKey(op.block())) {
            return;
        }
        final SyncStream stream = streams.get(op.stream());
        if (stream != null && allocator instanceof StreamAwareAllocator streamAware) {
            allocate(
                    op,
                    op.block(),
                    op.byteSize(),
                    stream,
                    false,
                    () -> streamAware.allocOnStream(op.byteSize(), stream));
        } else if (op.stream() == 0) {
            allocate(op, op.block(), op.byteSize(), null, false, () -> allocator.alloc(op.byteSize()));
        }
    }

    private void allocate(
            Op op, int number, long byteSize, @Nullable SyncStream stream, boolean isReserve, Callable<Long> call) {
        final long address;
        try {
            address = call.call();
        } catch (OutOfMemoryException refused) {
            log.accept(op + " -> refused: " + refused.getMessage());
            failures++;
            RuleBroken.unless(
                    program.options().containsKey(Subject.LIMIT),
                    "A-05",
                    "refused for lack of memory with %d bytes live and no limit: %s",
                    requestedInUse,
                    refused.getMessage());
            RuleBroken.unless(
                    refused.shortage().requested() == byteSize,
                    "A-05",
                    "the shortage says %d bytes were requested; it was %d",
                    refused.shortage().requested(),
                    byteSize);
            return;
        } catch (Exception failure) {
            throw new RuleBroken("A-05", "failed with " + Expect.describe(failure), failure);
        }
        final Block block = new Block(number, address, byteSize, stream);
        log.accept(op + " -> " + Expect.hex(address));
        RuleBroken.unless(
                (byteSize == 0) == (address == 0),
                "A-02",
                "%d bytes got address %s; 0 stands for the empty allocation and for nothing else",
                byteSize,
                Expect.hex(address));
        if (byteSize == 0) {
            return;
        }
        RuleBroken.unless(
                address % allocator.info().byteAlignment() == 0,
                "A-04",
                "%s does not start at a multiple of %d",
                block,
                allocator.info().byteAlignment());
        checkApart(block);
        takeOver(block);
        live.put(address, block);
        blocks.put(number, block);
        requestedInUse += byteSize;
        allocs++;
        reserves += isReserve ? 1 : 0;
        highest = Math.max(highest, requestedInUse);
        write(block);
    }

    private void checkApart(Block block) {
        final Map.Entry<Long, Block> below = live.lowerEntry(block.end());
        RuleBroken.unless(
                below == null || below.getValue().end() <= block.address(),
                "A-03",
                "%s overlaps %s, which is live",
                block,
                below == null ? "" : below.getValue());
        if (program.options().containsKey(Subject.LIMIT) || !subject.isOrderKnown(allocator)) {
            // Short of room, an allocator may wait for its streams and give their memory back, and a device that
            // orders memory may know that work is done. Nothing tells us that.
            return;
        }
        for (final Flight flight : flights) {
            if (flight.overlaps(block.address(), block.byteSize()) && !flight.isOrderedBefore(block.stream())) {
                final SyncStream user = block.stream();
                throw new RuleBroken(
                        "T-03",
                        String.format(
                                "%s takes memory of %s, which was freed when stream %d had sync id %d; %s, so queued work"
                                        + " of stream %d may still use it",
                                block,
                                flight.block(),
                                flight.stream().id(),
                                flight.stamp(),
                                user == null
                                        ? "memory without a stream is for every stream, and that one was not synchronized"
                                        : "stream " + user.id() + " has waited for sync id "
                                                + user.lastWaitedSyncId(flight.stream())
                                                + " of it and must have waited for a later one",
                                flight.stream().id()),
                        null);
            }
        }
    }

    /** What a block takes over in good order is no longer in flight; the rest of such memory still is. */
    private void takeOver(Block taker) {
        final List<Flight> rest = new ArrayList<>();
        flights.removeIf(flight -> {
            if (!flight.overlaps(taker.address(), taker.byteSize())) {
                return false;
            }
            final Block block = flight.block();
            if (block.address() < taker.address()) {
                rest.add(part(flight, block.address(), taker.address()));
            }
            if (taker.end() < block.end()) {
                rest.add(part(flight, taker.end(), block.end()));
            }
            return true;
        });
        flights.addAll(rest);
    }

    private static Flight part(Flight flight, long from, long to) {
        return new Flight(
                new Block(flight.block().number(), from, to - from, flight.stream()), flight.stream(), flight.stamp());
    }

    /** The host has waited for a stream, and so for all that the stream had waited for. */
    private void land(SyncStream stream) {
        flights.removeIf(flight -> flight.isOrderedBefore(stream));
    }

    private void free(Block block) {
        verify(block, "before it is freed");
        final SyncStream stream = block.stream();
        final long stamp = stream == null ? 0 : stream.syncId();
        attempt("A-06", "free of " + block + ", which is live,", asCall(() -> allocator.free(block.address())));
        live.remove(block.address());
        requestedInUse -= block.byteSize();
        if (stream != null && streams.containsValue(stream)) {
            flights.add(new Flight(block, stream, stamp));
        }
    }

    private void shrink() {
        if (!(allocator instanceof ShrinkableAllocator shrinkable)) {
            return;
        }
        final long held = counts ? allocator.stats().bytesHeld() : 0;
        final ShrinkReport report = attempt("K-04", "shrink", shrinkable::shrink);
        log.accept("shrink -> " + report);
        if (counts) {
            final long now = allocator.stats().bytesHeld();
            RuleBroken.unless(
                    held - now == report.bytesReleased() && now == report.bytesHeld(),
                    "K-02",
                    "shrink reports %d bytes released and %d still held; bytesHeld was %d and is %d",
                    report.bytesReleased(),
                    report.bytesHeld(),
                    held,
                    now);
        }
        live.values().forEach(block -> verify(block, "after a shrink"));
        if (report.bytesReleased() > 0) {
            // Memory that went back to the device was done with (K-03); the device may hand its addresses out anew.
            flights.clear();
        }
    }

    private void end() {
        live.values().forEach(block -> verify(block, "at the end"));
        List.copyOf(live.values()).forEach(this::free);
        blocks.clear();
        checkStatistics();
        if (counts) {
            final AllocatorStats stats = allocator.stats();
            RuleBroken.unless(
                    stats.bytesInUse() == 0, "S-04", "everything is freed, yet bytesInUse is %d", stats.bytesInUse());
        }
        notifications
                .values()
                .forEach(notification -> attempt("T-03", "close of a notification", asCall(notification::close)));
        while (!references.isEmpty()) {
            attempt("F-04", "releaseAllocator", asCall(() -> subject.release(references.pop())));
        }
        streams.values().forEach(stream -> attempt("T-05", "close of " + stream, asCall(stream::close)));
    }

    private void checkStatistics() {
        if (!counts) {
            return;
        }
        final AllocatorStats stats = attempt("S-01", "stats", allocator::stats);
        RuleBroken.unless(
                stats.requestedBytesInUse() == requestedInUse,
                "S-01",
                "requestedBytesInUse is %d; the live blocks were asked for with %d",
                stats.requestedBytesInUse(),
                requestedInUse);
        StatisticsRules.fault(stats, isArena).ifPresent(fault -> RuleBroken.unless(false, "S-02", "%s", fault));
        counted("numAllocs", stats.numAllocs(), first.numAllocs(), allocs);
        counted("numReserves", stats.numReserves(), first.numReserves(), reserves);
        counted("numFailedAllocs", stats.numFailedAllocs(), first.numFailedAllocs(), failures);
        RuleBroken.unless(
                stats.peakBytesInUse() >= highest,
                "S-01",
                "peakBytesInUse is %d; %d were live at once",
                stats.peakBytesInUse(),
                highest);
        if (stats.limit() >= 0) {
            RuleBroken.unless(
                    stats.peakBytesHeld() <= stats.limit(),
                    "S-03",
                    "bytesHeld reached %d, past the limit of %d",
                    stats.peakBytesHeld(),
                    stats.limit());
        }
    }

    /** A counter is right, or stays 0 because the allocator does not keep it. */
    private static void counted(String name, long now, long before, long calls) {
        RuleBroken.unless(
                now == before + calls || now == 0,
                "S-01",
                "%s is %d; it was %d before %d such calls",
                name,
                now,
                before,
                calls);
    }

    private void write(Block block) {
        if (isSeen(block)) {
            contents.orElseThrow().fill(block.address(), Math.min(block.byteSize(), PATTERN_BYTES), block.number());
        }
    }

    private void verify(Block block, String when) {
        if (isSeen(block)) {
            contents.orElseThrow()
                    .fault(block.address(), Math.min(block.byteSize(), PATTERN_BYTES), block.number())
                    .ifPresent(fault -> RuleBroken.unless(
                            false, when.contains("shrink") ? "K-01" : "A-09", "%s %s: %s", block, when, fault));
        }
    }

    /** A copy without a stream is not ordered after work of a stream, so blocks of streams are seen directly or not. */
    private boolean isSeen(Block block) {
        return contents.isPresent() && (block.stream() == null || allocator instanceof HostAccessibleAllocator);
    }

    private void onStream(int number, Consumer<SyncStream> action) {
        final SyncStream stream = streams.get(number);
        if (stream != null) {
            action.accept(stream);
        }
    }

    private static Callable<Boolean> asCall(Runnable body) {
        return () -> {
            body.run();
            return true;
        };
    }

    private static <T> T attempt(String rule, String what, Callable<T> call) {
        try {
            return call.call();
        } catch (RuleBroken broken) {
            throw broken;
        } catch (Exception failure) {
            throw new RuleBroken(rule, what + " failed with " + Expect.describe(failure), failure);
        }
    }
}
