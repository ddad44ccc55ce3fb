package allocator.onnxruntime;

import allocator.spi.AllocatorStats;
import allocator.spi.MemoryInfo;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.LongSupplier;

/** One memory of a session: what ONNX Runtime has in use of it, and its budget. Safe for use by any thread. */
public final class SessionMemory {
    private final ExportedAllocator exported;
    private final SharedWeights weights;
    private final LongSupplier asleep;

    SessionMemory(ExportedAllocator exported, SharedWeights weights, LongSupplier asleep) {
        this.exported = exported;
        this.weights = weights;
        this.asleep = asleep;
    }

    /** {@return the memory's info} */
    public MemoryInfo info() {
        return exported.target().info();
    }

    /** {@return what the session has allocated of this memory, in requested bytes; {@code limit} is its budget} */
    public AllocatorStats stats() {
        return exported.stats();
    }

    /**
     * Sets the most that the session may have in use of this memory from now on, in requested bytes. Live blocks stay
     * valid; below what is in use, every allocation fails until enough is freed.
     *
     * @param bytes the budget, {@link AllocatorStats#UNLIMITED} for none
     */
    public void setBudget(long bytes) {
        exported.budget().setLimit(bytes);
    }

    /**
     * {@return the bytes in use that are in memory of the host, as the session is asleep; budgets and {@link #stats}
     * count them}
     */
    public long bytesAsleep() {
        return asleep.getAsLong();
    }

    /**
     * {@return the bytes in use that have one copy with equal weights of other sessions, or will have when such a one
     * is opened} Budgets and {@link #stats} count them for each session. {@code 0} without
     * {@link OnnxRuntimeAllocators#SHARE_WEIGHTS}, and of memory of the processor, which does not report it.
     */
    public long bytesShared() {
        final LongAdder sum = new LongAdder();
        exported.forEach((address, byteSize, name) -> sum.add(weights.copyOf(address) == 0 ? 0 : byteSize));
        return sum.sum();
    }

    /** {@return how many blocks ONNX Runtime holds of this memory for the session} */
    public int liveBlocks() {
        return exported.liveBlocks();
    }

    /**
     * {@return the bytes that ONNX Runtime has freed and a captured graph uses, in requested bytes} They count as in
     * use, and are named {@code captured graph} in snapshots.
     */
    public long bytesCaptured() {
        return exported.bytesCaptured();
    }

    @Override
    public String toString() {
        return info() + ": " + exported.budget().used() + " bytes in use by " + exported.session()
                + (bytesAsleep() == 0 ? "" : ", of which " + bytesAsleep() + " are asleep");
    }

    ExportedAllocator exported() {
        return exported;
    }
}
