package allocator.cpu.reference;

import allocator.arena.plan.ArenaPlans;
import allocator.arena.plan.PlannedStreamAllocator;
import allocator.spi.SyncStream;

/** An arena that follows plans, over another one. */
final class CpuPlannedArena extends PlannedStreamAllocator implements CpuArena {
    private final CpuArena arena;

    CpuPlannedArena(CpuArena arena, ArenaPlans plans) {
        super(arena, plans);
        this.arena = arena;
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
