package allocator.simulation.world;

import allocator.arena.bump.BumpConfig;
import allocator.arena.bump.BumpStats;
import allocator.arena.bump.SharedBumpArena;
import allocator.arena.bump.StaleAddressException;
import allocator.simulation.Op;
import allocator.simulation.World;
import allocator.simulation.schedule.Scheduler;
import java.util.HashMap;
import java.util.Map;
import java.util.SplittableRandom;

/** A bump arena for several threads: blocks of one generation that are called live do not overlap. */
public final class SharedBumpWorld implements World {
    private final Map<Long, Model> generations = new HashMap<>();
    private final SimulatedDevice device;
    private final SharedBumpArena arena;
    private final BumpConfig config;
    private final int largest;

    public SharedBumpWorld(SplittableRandom random) {
        final long initial = 1L << random.nextInt(8, 14);
        config = new BumpConfig(initial, random.nextInt(3) == 0 ? 0 : 1L << random.nextInt(8, 14), initial << 6);
        largest = (int) initial;
        final int[] rates = {0, 0, 8};
        device = new SimulatedDevice(
                random.split(), new Model(), Long.MAX_VALUE, initial << 6, rates[random.nextInt(rates.length)]);
        arena = new SharedBumpArena(device, config);
    }

    @Override
    public void perform(int thread, Op op) {
        try {
            switch (op.kind()) {
                case ALLOC -> allocate(1L + op.a() % largest, 256);
                case RESET -> Scheduler.call(arena::reset);
                case STATS -> verify(arena.stats());
                default -> throw new IllegalArgumentException(op.toString());
            }
        } catch (Throwable e) {
            Model.requireSimulated(e, true);
        }
    }

    private void allocate(long byteSize, long byteAlignment) {
        final long generation = arena.generation();
        final long address = Scheduler.call(() -> arena.allocate(byteSize, byteAlignment));
        try {
            Scheduler.call(() -> arena.requireLive(address, generation));
        } catch (StaleAddressException e) {
            return;
        }
        generations.computeIfAbsent(generation, key -> new Model()).allocated(address, byteSize, null);
    }

    private static void verify(BumpStats stats) {
        Model.require(stats.bytesInUse() <= stats.bytesHeld(), "more in use than held: " + stats);
        Model.require(stats.bytesInUse() <= stats.peakBytesInUse(), "more in use than ever: " + stats);
    }

    @Override
    public void finish() {
        device.repair();
        verify(arena.stats());
        Model.require(
                arena.stats().bytesHeld() <= device.bytesOut(),
                device.bytesOut() + " bytes are out, not as in " + arena.stats());
        final Model current = generations.getOrDefault(arena.generation(), new Model());
        Model.require(
                arena.stats().requestedBytes() >= current.liveBytes(),
                current.liveBytes() + " bytes are live, not as in " + arena.stats());
        arena.reset();
        Model.require(arena.stats().bytesInUse() == 0, "nothing is live, not as in " + arena.stats());
        arena.close();
        Model.require(device.bytesOut() == 0, device.bytesOut() + " bytes are out after the close");
    }

    @Override
    public String toString() {
        return config + ", " + device;
    }
}
