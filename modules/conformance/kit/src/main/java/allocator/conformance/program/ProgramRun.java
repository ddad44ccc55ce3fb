package allocator.conformance.program;

import allocator.conformance.program.LifetimeModel.Block;
import allocator.conformance.subject.Contents;
import allocator.conformance.subject.Expect;
import allocator.conformance.subject.Subject;
import allocator.spi.Allocator;
import allocator.spi.AllocatorStats;
import allocator.spi.HostAccessibleAllocator;
import allocator.spi.OutOfMemoryException;
import allocator.spi.ShrinkReport;
import allocator.spi.ShrinkableAllocator;
import allocator.spi.SpiLevel;
import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncNotification;
import allocator.spi.SyncStream;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Runs a program on an allocator and compares each step with a model of lifetimes and a model of counters. */
final class ProgramRun {
    /** So many bytes at each end of a block are compared. */
    private static final long PATTERN_BYTES = 2048;

    private final Subject subject;
    private final Program program;
    private final Consumer<String> log;
    private final Allocator allocator;
    private final boolean counts;
    private final Optional<Contents> contents;
    private final LifetimeModel memory = new LifetimeModel();
    private final CounterModel counters;
    private final Deque<Allocator> references = new ArrayDeque<>();
    private final Map<Integer, SyncStream> streams = new HashMap<>();
    private final Map<Integer, SyncNotification> notifications = new HashMap<>();
    private long held;

    private ProgramRun(Subject subject, Program program, Consumer<String> log) {
        this.subject = subject;
        this.program = program;
        this.log = log;
        allocator = subject.allocator(program.options());
        counts = attempt("A-05", "alloc(1) with nothing live", () -> subject.counts(allocator));
        final boolean isArena = attempt("A-05", "alloc(1) with nothing live", () -> subject.isArena(allocator));
        contents = Contents.of(subject, allocator);
        counters = new CounterModel(counts ? allocator.stats() : AllocatorStats.NONE, isArena);
    }

    /**
     * Runs a program.
     *
     * @param log receives each step and its result
     * @throws RuleViolation at the first step that breaks a rule
     */
    static void run(Subject subject, Program program, Consumer<String> log) {
        final ProgramRun run = new ProgramRun(subject, program, log);
        for (int i = 0; i < program.steps().size(); i++) {
            final Op step = program.steps().get(i);
            try {
                run.step(step);
                run.checkStatistics();
            } catch (RuleViolation violation) {
                throw new RuleViolation(
                        violation.rule(),
                        "step " + (i + 1) + " (" + step + "): " + violation.getMessage(),
                        violation.getCause());
            }
        }
        try {
            run.end();
        } catch (RuleViolation violation) {
            throw new RuleViolation(
                    violation.rule(), "after the last step: " + violation.getMessage(), violation.getCause());
        }
    }

    private void step(Op op) {
        switch (op) {
            case Op.Alloc alloc -> alloc(alloc);
            case Op.Reserve reserve -> {
                if (!memory.isLive(reserve.block()) && allocator.spiLevel() >= SpiLevel.RESERVE) {
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
                final Block block = memory.take(free.block());
                if (block != null) {
                    free(block);
                }
            }
            case Op.Open open -> {
                if (!streams.containsKey(open.stream())
                        && subject.ifStreamAware(allocator).isPresent()) {
                    // A device that has no further stream leaves out the steps on it.
                    subject.furtherStream(subject.memory()).ifPresent(stream -> streams.put(open.stream(), stream));
                }
            }
            case Op.Close close ->
                onStream(close.stream(), stream -> {
                    attempt("T-05", "close of " + stream, asCall(stream::close));
                    streams.values().remove(stream);
                    memory.synchronize(stream);
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
                    memory.synchronize(stream);
                });
            case Op.RunEnd end ->
                onStream(end.stream(), stream -> {
                    attempt("T-04", "onSessionRunEnd of " + stream, asCall(stream::onSessionRunEnd));
                    memory.synchronize(stream);
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
        if (memory.isLive(op.block())) {
            return;
        }
        final SyncStream stream = streams.get(op.stream());
        if (stream != null
                && allocator.as(StreamAwareAllocator.class).orElse(null) instanceof StreamAwareAllocator streamAware) {
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
        noteReturns();
        try {
            address = call.call();
        } catch (OutOfMemoryException failure) {
            log.accept(op + " -> failed: " + failure.getMessage());
            counters.failed();
            checkExhaustion(failure, byteSize);
            return;
        } catch (Exception failure) {
            throw new RuleViolation("A-05", "failed with " + Expect.describe(failure), failure);
        }
        final Block block = new Block(number, address, byteSize, stream);
        log.accept(op + " -> " + Expect.hex(address));
        RuleViolation.unless(
                (byteSize == 0) == (address == 0),
                "A-02",
                "%d bytes got address %s; 0 stands for the empty allocation and for nothing else",
                byteSize,
                Expect.hex(address));
        if (byteSize == 0) {
            return;
        }
        RuleViolation.unless(
                address % allocator.info().byteAlignment() == 0,
                "A-04",
                "%s does not start at a multiple of %d",
                block,
                allocator.info().byteAlignment());
        noteReturns();
        memory.add(block, isOrderKnown());
        counters.allocated(byteSize, isReserve);
        write(block);
    }

    private void checkExhaustion(OutOfMemoryException failure, long byteSize) {
        RuleViolation.unless(
                program.options().containsKey(Subject.LIMIT),
                "A-05",
                "failed for lack of memory with %d bytes live and no limit: %s",
                counters.requestedInUse(),
                failure.getMessage());
        RuleViolation.unless(
                failure.shortage().requested() == byteSize,
                "A-05",
                "the shortage says %d bytes were requested; it was %d",
                failure.shortage().requested(),
                byteSize);
    }

    /**
     * Returns whether the model knows the order of streams. An allocator short of room may wait for its streams and
     * reuse their memory, and a device that orders memory may know that work is done; neither is visible here.
     */
    private boolean isOrderKnown() {
        return !program.options().containsKey(Subject.LIMIT) && subject.isOrderKnown(allocator);
    }

    private void free(Block block) {
        verify(block, "before it is freed");
        final SyncStream stream = block.stream();
        final long stamp = stream == null ? 0 : stream.syncId();
        noteReturns();
        final long inUse = statistics().bytesInUse();
        attempt("A-06", "free of " + block + ", which is live,", asCall(() -> allocator.free(block.address())));
        final AllocatorStats after = statistics();
        final long returned = held - after.bytesHeld();
        memory.remove(block, stamp, returned <= 0 && stream != null && streams.containsValue(stream));
        if (returned <= inUse - after.bytesInUse()) {
            // Nothing but the block went back, if anything did.
            held = after.bytesHeld();
        }
        noteReturns();
        counters.freed(block.byteSize());
    }

    private AllocatorStats statistics() {
        return counts ? attempt("S-01", "stats", allocator::stats) : AllocatorStats.NONE;
    }

    /**
     * Forgets what was freed if memory went back to the device since the last look: the device may now serve other
     * requests from the addresses it got back.
     */
    private void noteReturns() {
        final long now = statistics().bytesHeld();
        if (now < held) {
            memory.clearPending();
        }
        held = now;
    }

    private void shrink() {
        final Optional<ShrinkableAllocator> shrinkable = Subject.ifShrinkable(allocator);
        if (shrinkable.isEmpty()) {
            return;
        }
        final long before = statistics().bytesHeld();
        final ShrinkReport report = attempt("K-04", "shrink", shrinkable.get()::shrink);
        log.accept("shrink -> " + report);
        if (counts) {
            final long now = allocator.stats().bytesHeld();
            RuleViolation.unless(
                    subject.isReturned(report.bytesReleased(), before - now)
                            && subject.isReturned(0, report.bytesHeld() - now),
                    "K-02",
                    "shrink reports %d bytes released and %d still held; bytesHeld was %d and is %d",
                    report.bytesReleased(),
                    report.bytesHeld(),
                    before,
                    now);
        }
        memory.live().forEach(block -> verify(block, "after a shrink"));
        if (report.bytesReleased() > 0) {
            memory.clearPending();
        }
    }

    private void end() {
        memory.live().forEach(block -> verify(block, "at the end"));
        memory.live().forEach(this::free);
        memory.clearNumbers();
        checkStatistics();
        if (counts) {
            final AllocatorStats stats = allocator.stats();
            RuleViolation.unless(
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
        if (counts) {
            counters.check(statistics());
            noteReturns();
        }
    }

    private void write(Block block) {
        if (isVerifiable(block)) {
            for (final Contents.Part end : Contents.Part.ends(block.address(), block.byteSize(), PATTERN_BYTES)) {
                contents.orElseThrow().fill(end, block.number());
            }
        }
    }

    private void verify(Block block, String when) {
        if (isVerifiable(block)) {
            for (final Contents.Part end : Contents.Part.ends(block.address(), block.byteSize(), PATTERN_BYTES)) {
                contents.orElseThrow()
                        .fault(end, block.number())
                        .ifPresent(fault -> RuleViolation.unless(
                                false, when.contains("shrink") ? "K-01" : "A-09", "%s %s: %s", block, when, fault));
            }
        }
    }

    /**
     * Returns whether the contents of a block can be verified. A copy without a stream is not ordered after the work of
     * a stream, so a block of a stream must be accessible to the host.
     */
    private boolean isVerifiable(Block block) {
        return contents.isPresent()
                && (block.stream() == null
                        || allocator.as(HostAccessibleAllocator.class).isPresent());
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
        } catch (RuleViolation violation) {
            throw violation;
        } catch (Exception failure) {
            throw new RuleViolation(rule, what + " failed with " + Expect.describe(failure), failure);
        }
    }
}
