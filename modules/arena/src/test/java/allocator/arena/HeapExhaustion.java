package allocator.arena;

import allocator.arena.chunk.BestFit;
import allocator.arena.chunk.Granules;
import allocator.testkit.FakeDevice;
import allocator.testkit.FakeStream;

/**
 * A program for a JVM of its own: the Java heap is exhausted while an arena frees, dissolves slabs, or closes. A call
 * that fails changes nothing, and succeeds when there is heap again.
 */
final class HeapExhaustion {
    private static final int BLOCKS = 20_000;
    private static final int REGIONS = 4_000;
    private static final int SPARE = 1 << 16;
    private static final long REGION = 2L * BLOCKS * Granules.BYTES;

    private HeapExhaustion() {}

    public static void main(String[] args) {
        final PlacementPolicy policy = PlacementPolicy.valueOf(args[0]);
        final BfcArena arena = AllocatedPages.arena(
                new FakeDevice(),
                new ArenaConfig(ExtendStrategy.POWER_OF_TWO, REGION, REGION, REGION, 1 << 20, 0, policy, 0, false));
        switch (policy) {
            case BEST_FIT, COMPACT -> freeWithoutHeap(arena);
            case SLABS -> dissolveWithoutHeap(arena);
        }
        arena.shrink();
        if (arena.stats().bytesHeld() != 0) {
            throw new AssertionError(arena.stats());
        }
        if (policy == PlacementPolicy.COMPACT) {
            arena.close();
        } else {
            closeWithoutHeap(policy);
        }
    }

    /** The first lane has little to return and would close; the second needs room for each of its regions. */
    private static void closeWithoutHeap(PlacementPolicy policy) {
        final FakeDevice device = new FakeDevice();
        final BfcArena arena = new BfcArena(
                device, new ArenaConfig(ExtendStrategy.SAME_AS_REQUESTED, 1, 1, 1, 1, 0, policy, 0, false));
        final FakeStream stream = new FakeStream();
        final long inFirstLane = arena.alloc(1);
        arena.lanes.choice.leaveMainLane(LaneChoice.requester(stream));
        final long[] inSecondLane = new long[REGIONS];
        for (int i = 0; i < REGIONS; i++) {
            inSecondLane[i] = arena.allocOnStream(1, stream);
        }
        Object[] ballast = exhaustHeapBut(SPARE); // room for the first lane, but not for the second
        try {
            arena.close();
            throw new AssertionError("all lanes were closed without heap, beside " + ballast.length);
        } catch (OutOfMemoryError _) {
            ballast = null;
        }
        arena.free(inFirstLane);
        arena.free(inSecondLane[0]);
        arena.checkConsistency();
        arena.lanes.choice.leaveMainLane(LaneChoice.requester()); // lanes can be added still
        final CloseReport report = arena.close();
        if (arena.laneCount() != 3 || report.liveAllocations() != REGIONS - 1 || device.liveBytes() != 0) {
            throw new AssertionError(report + ", " + device.liveBytes() + " bytes out");
        }
    }

    /** Every second free needs an entry in the index of free memory. */
    private static void freeWithoutHeap(BfcArena arena) {
        final FakeStream stream = new FakeStream();
        final long[] blocks = new long[2 * BLOCKS];
        for (int i = 0; i < blocks.length; i++) {
            blocks[i] = arena.allocOnStream(1, stream);
        }
        Object[] ballast = exhaustHeap();
        int failed = -1;
        for (int i = 0; i < blocks.length && failed < 0; i += 2) {
            try {
                arena.free(blocks[i]);
                blocks[i] = 0;
            } catch (OutOfMemoryError _) {
                failed = i;
            }
        }
        // An earlier free, which ended after it had taken effect, has left the lane to be repaired. That takes heap.
        arena.lanes.at(blocks[1]).placement.step = BestFit.FREED;
        boolean isRejected = false;
        try {
            arena.free(blocks[1]);
        } catch (OutOfMemoryError _) {
            isRejected = true;
        }
        if (failed < 0 || !isRejected || ballast.length == 0) {
            throw new AssertionError("all was freed without heap");
        }
        ballast = null;
        arena.checkConsistency();
        for (final long block : blocks) {
            arena.free(block);
        }
        arena.checkConsistency();
    }

    /** Frees in slabs need no heap; to make all free units chunks takes more than there is. */
    private static void dissolveWithoutHeap(BfcArena arena) {
        final FakeStream stream = new FakeStream();
        final long[] blocks = new long[2 * BLOCKS];
        for (int i = 0; i < blocks.length; i++) {
            blocks[i] = arena.allocOnStream(1, stream);
        }
        Object[] ballast = exhaustHeap();
        for (int i = 0; i < blocks.length; i += 2) {
            arena.free(blocks[i]);
        }
        try {
            arena.endRun(stream);
            throw new AssertionError("all slabs were dissolved without heap, beside " + ballast.length);
        } catch (OutOfMemoryError _) {
            ballast = null;
        }
        arena.checkConsistency();
        arena.endRun(stream);
        arena.checkConsistency();
        final long other = arena.alloc(1);
        for (int i = 1; i < blocks.length; i += 2) {
            arena.free(blocks[i]);
        }
        arena.free(other);
        arena.checkConsistency();
    }

    /** Fills the heap but for some bytes, until the result is collected. */
    private static Object[] exhaustHeapBut(int byteSize) {
        final byte[] spare = new byte[byteSize];
        final Object[] ballast = exhaustHeap();
        if (spare.length != byteSize) { // keeps it alive until here
            throw new AssertionError();
        }
        return ballast;
    }

    /** Fills the heap until the result is collected. */
    private static Object[] exhaustHeap() {
        Object[] ballast = new Object[1];
        for (int length = 1 << 18; length > 16; length /= 2) {
            try {
                while (true) {
                    final Object[] next = new Object[length];
                    next[0] = ballast;
                    ballast = next;
                }
            } catch (OutOfMemoryError _) {
                // the next ones are smaller
            }
        }
        return ballast;
    }
}
