package allocator.cpu.reference;

import allocator.arena.plan.ArenaPlans;
import allocator.arena.plan.PlannedAllocator;
import allocator.spi.SyncStream;

/** An arena that follows plans, over another one. */
final class CpuPlannedArena extends PlannedAllocator implements CpuArena {
    private final CpuArena arena;

    private CpuPlannedArena(CpuArena arena, ArenaPlans plans) {
        super(arena, plans);
        this.arena = arena;
    }

    /** Returns an arena that follows plans, or the given one if there are none. */
    static CpuArena over(CpuArena arena, ArenaPlans plans) {
        try {
            return plans.isEmpty() ? arena : new CpuPlannedArena(arena, plans);
        } catch (Throwable e) { // the end of the Java heap
            arena.destroy();
            throw e;
        }
    }

    @Override
    public long allocOnStream(long byteSize, SyncStream stream) {
        use(stream);
        return super.allocOnStream(byteSize, stream);
    }

    @Override
    public boolean isClosed() {
        return arena.isClosed();
    }

    @Override
    public void destroy() {
        try {
            close();
        } finally {
            arena.destroy();
        }
    }
}
