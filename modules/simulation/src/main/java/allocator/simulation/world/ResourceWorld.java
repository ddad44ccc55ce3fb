package allocator.simulation.world;

import allocator.arena.ArenaConfig;
import allocator.arena.BfcArena;
import allocator.arena.ExtendStrategy;
import allocator.arena.PlacementPolicy;
import allocator.arena.StreamArenaAllocator;
import allocator.provider.support.budget.Budget;
import allocator.resource.AllocatorResource;
import allocator.resource.FailureCallbackResource;
import allocator.resource.MemoryResource;
import allocator.resource.ResourceAllocator;
import allocator.resource.ResourceStatistics;
import allocator.resource.StatisticsResource;
import allocator.resource.budget.BudgetResource;
import allocator.resource.budget.PressureLadder;
import allocator.resource.leak.LeakReport;
import allocator.resource.leak.LeakTrackingResource;
import allocator.resource.log.LoggingResource;
import allocator.resource.log.RmmLog;
import allocator.simulation.Op;
import allocator.simulation.World;
import allocator.simulation.schedule.Failpoint;
import allocator.simulation.schedule.Scheduler;
import allocator.simulation.world.OwnedBlocks.Owned;
import allocator.spi.Allocator;
import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorStats;
import allocator.spi.OutOfMemoryException;
import allocator.spi.SyncStream;
import java.io.Writer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.SplittableRandom;
import java.util.function.LongSupplier;

/**
 * Two allocators over decorators, which all threads use, above one arena or device. Each is charged to a budget of its
 * own in one tree, and has statistics, leak tracking, retries and a log in an order that the seed decides.
 */
public final class ResourceWorld implements World {
    private static final int STREAMS = 2;

    /** An allocator, and the decorators that count below it. */
    private static final class Leaf {
        private final Budget budget;
        private final ResourceAllocator allocator;
        private final StatisticsResource statistics;
        private final LeakTrackingResource leaks;
        private final RmmLog log;
        private long failures;

        Leaf(MemoryResource below, Budget budget, PressureLadder ladder, SplittableRandom random) {
            this.budget = budget;
            final int attempts = 1 + random.nextInt(2);
            log = new RmmLog(Writer.nullWriter());
            MemoryResource top = new BudgetResource(below, budget, ladder);
            StatisticsResource counted = null;
            LeakTrackingResource tracked = null;
            final List<Integer> order = new ArrayList<>(List.of(0, 1, 2, 3));
            Collections.shuffle(order, new Random(random.nextLong()));
            for (final int next : order) {
                switch (next) {
                    case 0 -> {
                        counted = new StatisticsResource(top);
                        top = counted;
                    }
                    case 1 -> {
                        tracked = LeakTrackingResource.full(top);
                        top = tracked;
                    }
                    case 2 -> top = new LoggingResource(top, log);
                    default -> top = new FailureCallbackResource(top, attempts, (failure, attempt) -> true);
                }
            }
            statistics = counted;
            leaks = tracked;
            allocator = ResourceAllocator.of(top);
        }
    }

    private final Model model = new Model();
    private final OwnedBlocks<Leaf> blocks = new OwnedBlocks<>(model);
    private final SimulatedDevice device;

    /** The arena above the device; null if there is none. */
    private final BfcArena arena;

    private final StatisticsResource bottom;
    private final Budget root;
    private final List<Leaf> leaves;
    private final int largest;
    private final String description;
    private final Map<Integer, SimulatedStream> streams = new HashMap<>();

    /** Whether the stack or the heap may have ended in a call, which costs a log its line. */
    private boolean hasFailpoints;

    public ResourceWorld(SplittableRandom random) {
        largest = 1 << random.nextInt(8, 18);
        final long limit = random.nextBoolean() ? Budget.UNLIMITED : 1L << random.nextInt(12, 20);
        final long capacity = random.nextInt(3) == 0 ? 1L << random.nextInt(14, 20) : Long.MAX_VALUE;
        final int[] rates = {0, 0, 0, 30, 8, 2};
        final int faultEvery = rates[random.nextInt(rates.length)];
        device = new SimulatedDevice(random.split(), model, capacity, Long.MAX_VALUE, faultEvery);
        final Allocator allocator;
        if (random.nextInt(3) > 0) {
            arena = new BfcArena(device, config(random));
            allocator = new StreamArenaAllocator(arena, AllocatorOptions.EMPTY);
        } else {
            arena = null;
            allocator = device;
        }
        bottom = new StatisticsResource(new AllocatorResource(allocator));
        root = Budget.of("root", limit);
        final Budget first = root.child("first", limit == Budget.UNLIMITED ? 1L << random.nextInt(12, 20) : limit);
        final long reservation = random.nextInt(1 << 14);
        final Budget reserved = root.tryReserve("second", reservation);
        final Budget second = reserved == null || random.nextBoolean() ? root.child("third", limit) : reserved;
        if (reserved != null && !second.equals(reserved)) {
            reserved.close();
        }
        final PressureLadder ladder = random.nextBoolean()
                ? PressureLadder.NONE
                : PressureLadder.NONE.then("shrink", byteSize -> bottom.shrink().bytesReleased());
        leaves = List.of(new Leaf(bottom, first, ladder, random), new Leaf(bottom, second, ladder, random));
        description = device + ", " + (arena == null ? "no arena" : "an arena") + ", " + leaves.getFirst().allocator
                + " and " + leaves.getLast().allocator + ", limit " + limit + ", reservation " + reservation
                + ", sizes up to " + largest;
    }

    private static ArenaConfig config(SplittableRandom random) {
        return new ArenaConfig(
                ExtendStrategy.POWER_OF_TWO,
                1 << random.nextInt(8, 16),
                1 << random.nextInt(8, 16),
                1 << random.nextInt(8, 16),
                1 << random.nextInt(8, 18),
                0,
                random.nextBoolean() ? PlacementPolicy.BEST_FIT : PlacementPolicy.SLABS,
                1 + random.nextInt(3),
                random.nextBoolean());
    }

    @Override
    public void perform(int thread, Op op) {
        final Leaf leaf = leaves.get(op.b() % leaves.size());
        final long byteSize = 1L + op.a() % largest;
        final SimulatedStream stream = stream(thread, op.b() / 2);
        hasFailpoints |= !op.failpoint().equals(Failpoint.NONE);
        switch (op.kind()) {
            case ALLOC -> allocate(leaf, byteSize, null, () -> leaf.allocator.alloc(byteSize));
            case RESERVE -> allocate(leaf, byteSize, null, () -> leaf.allocator.reserve(byteSize));
            case ALLOC_ON_STREAM ->
                allocate(leaf, byteSize, stream, () -> leaf.allocator.allocOnStream(byteSize, stream));
            case FREE -> {
                final Owned<Leaf> owned = blocks.choose(op.a(), (block, owner) -> true);
                if (owned != null) {
                    blocks.free(owned, owned.owner().allocator::free);
                }
            }
            case END_RUN -> end(stream);
            case WAIT -> {
                final SimulatedStream producer = stream(op.a() % 2, op.a() / 2);
                Model.attempt(() -> stream.waitFor(producer));
            }
            case SHRINK -> Model.attempt(leaf.allocator::shrink);
            case STATS ->
                Model.attempt(() -> {
                    verify(leaf.budget.status());
                    verify(root.status());
                    verify(bottom.statistics());
                    verify(leaf.statistics.statistics());
                    leaf.allocator.stats();
                });
            default -> throw new IllegalArgumentException(op.toString());
        }
        model.requireNoViolation();
    }

    private SimulatedStream stream(int thread, int choice) {
        return streams.computeIfAbsent(thread * STREAMS + choice % STREAMS, key -> new SimulatedStream(device::call));
    }

    private void allocate(Leaf leaf, long byteSize, SyncStream stream, LongSupplier allocation) {
        final long address;
        try {
            address = Scheduler.call(allocation);
        } catch (OutOfMemoryException e) {
            leaf.failures++;
            Model.requireSimulated(e, true);
            return;
        } catch (Throwable e) {
            Model.requireSimulated(e, false);
            return;
        }
        blocks.allocated(address, byteSize, arena == null ? null : stream, leaf);
    }

    private void end(SimulatedStream stream) {
        if (arena != null) {
            model.beginEnd(stream);
            try {
                Model.attempt(() -> arena.endRun(stream));
            } finally {
                model.endEnd(stream);
            }
        }
    }

    private static void verify(Budget.Status status) {
        Model.require(status.charge() <= status.limit(), "more is charged than the limit: " + status);
        Model.require(status.charge() >= 0, "the charge is negative: " + status);
        Model.require(status.charge() <= status.peakCharge(), "more is charged than ever: " + status);
    }

    private static void verify(ResourceStatistics numbers) {
        Model.require(numbers.bytes() >= 0 && numbers.blocks() >= 0, "less than nothing is live: " + numbers);
        Model.require(numbers.bytes() <= numbers.peakBytes(), "more is live than ever: " + numbers);
        Model.require(numbers.bytes() <= numbers.totalBytes(), "more is live than in all: " + numbers);
    }

    @Override
    public void finish() {
        device.repair();
        Scheduler.call(() -> {
            leaves.forEach(leaf -> leaf.allocator.shrink()); // deallocates again what is unreturned
            leaves.forEach(this::verify);
            verifyAll();
        });
        for (final Owned<Leaf> owned : blocks.matching((block, leaf) -> true)) {
            Model.require(blocks.free(owned, owned.owner().allocator::free), "a free fails on a device that works");
        }
        Scheduler.call(() -> {
            leaves.forEach(this::verify);
            verifyAll();
            leaves.forEach(this::close);
            Model.require(root.status().charge() == 0, "nothing is live, not as in " + root.status());
            if (arena != null) {
                arena.checkConsistency();
                arena.close();
            }
        });
        Model.require(device.bytesOut() == 0, device.bytesOut() + " bytes are out after the close");
    }

    private void verify(Leaf leaf) {
        final long bytes = blocks.bytes(leaf);
        final int count = blocks.count(leaf);
        final Budget.Status status = leaf.budget.status();
        verify(status);
        Model.require(status.charge() == bytes, bytes + " bytes are live, not as in " + status);
        final ResourceStatistics numbers = leaf.statistics.statistics();
        verify(numbers);
        Model.require(
                numbers.bytes() == bytes && numbers.blocks() == count,
                count + " blocks of " + bytes + " bytes are live, not as in " + numbers);
        final LeakReport report = leaf.leaks.report();
        Model.require(
                report.bytes() == bytes && report.blocks() == count,
                count + " blocks of " + bytes + " bytes are live, not as in the report of " + report.bytes()
                        + " bytes");
        Model.require(
                hasFailpoints || leaf.log.droppedRecords() == 0, leaf.log.droppedRecords() + " records are dropped");
        final AllocatorStats stats = leaf.allocator.stats();
        Model.require(stats.numFailedAllocs() == leaf.failures, leaf.failures + " failed, not as in " + stats);
    }

    private void verifyAll() {
        final long bytes = model.liveBytes();
        final ResourceStatistics numbers = bottom.statistics();
        verify(numbers);
        Model.require(
                numbers.bytes() == bytes && numbers.blocks() == model.liveBlocks(),
                bytes + " bytes are live, not as in " + numbers);
        final long charge = leaves.stream()
                .map(leaf -> leaf.budget.status())
                .mapToLong(status -> Math.max(status.charge(), status.reservation()))
                .sum();
        Model.require(root.status().charge() == charge, charge + " bytes are charged, not as in " + root.status());
        if (arena != null) {
            final AllocatorStats stats = arena.stats();
            Model.require(stats.requestedBytesInUse() == bytes, bytes + " bytes are live, not as in " + stats);
            Model.require(
                    stats.bytesHeld() == device.bytesOut(), device.bytesOut() + " bytes are out, not as in " + stats);
        } else {
            Model.require(device.bytesOut() == bytes, device.bytesOut() + " bytes are out, and " + bytes + " live");
        }
    }

    private void close(Leaf leaf) {
        leaf.allocator.close();
        leaf.leaks.close();
        leaf.log.close();
        leaf.budget.close();
    }

    @Override
    public String toString() {
        return description;
    }
}
