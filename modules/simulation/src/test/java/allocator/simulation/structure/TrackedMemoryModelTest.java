package allocator.simulation.structure;

import allocator.provider.support.budget.Budget;
import allocator.resource.AllocatorResource;
import allocator.resource.tracked.StreamEvents;
import allocator.resource.tracked.TrackedBlock;
import allocator.resource.tracked.TrackedMemory;
import allocator.spi.OutOfMemoryException;
import allocator.spi.SyncStream;
import allocator.testkit.FakeStream;
import java.util.ArrayDeque;
import java.util.Deque;
import org.jetbrains.lincheck.datastructures.Operation;
import org.jetbrains.lincheck.datastructures.Validate;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Memory for two blocks, on a stream whose work is done at once. */
@Tag("thorough")
public class TrackedMemoryModelTest {
    private static final int BLOCKS = 2;

    private final SyncStream stream = new FakeStream();
    private final TrackedMemory memory = new TrackedMemory(
            new AllocatorResource(new ReusingDevice(BLOCKS)),
            new Done(),
            Budget.of("budget", BLOCKS * ReusingDevice.BLOCK));

    /** Guarded by itself. */
    private final Deque<TrackedBlock> live = new ArrayDeque<>();

    private static final class Done implements StreamEvents {
        @Override
        public long record(SyncStream stream) {
            return 1;
        }

        @Override
        public void await(SyncStream stream, long event) {}

        @Override
        public boolean isDone(long event) {
            return true;
        }

        @Override
        public void release(long event) {}
    }

    @Operation
    public boolean allocate() {
        final TrackedBlock block;
        try {
            block = memory.allocate(ReusingDevice.BLOCK, stream, "");
        } catch (OutOfMemoryException e) {
            return false;
        }
        synchronized (live) {
            live.add(block);
        }
        return true;
    }

    @Operation
    public boolean free() {
        final TrackedBlock block;
        synchronized (live) {
            block = live.poll();
        }
        if (block != null) {
            memory.free(block);
        }
        return block != null;
    }

    @Operation
    public void reap() {
        memory.reap();
    }

    @Validate
    public void whatIsLiveIsFound() {
        live.forEach(block -> memory.find(block.address(), block.generation()));
    }

    @Test
    void memoryThatWasFreedIsFoundByTheNextAllocation() {
        ModelCheck.checkParts(TrackedMemoryModelTest.class, "java.util.concurrent.ConcurrentHashMap");
    }
}
