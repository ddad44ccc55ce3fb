package allocator.spark;

import allocator.provider.support.budget.Budget;
import allocator.provider.support.internal.Failures;
import allocator.spi.Allocator;
import allocator.spi.HostAccessibleAllocator;
import java.util.List;
import org.apache.spark.TaskContext;
import org.jspecify.annotations.Nullable;

/**
 * The native memory of one running task of Spark.
 *
 * <pre>{@code
 * final HostAccessibleAllocator memory = TaskMemory.current().allocator();
 * final long block = memory.alloc(byteSize);
 * try {
 *     use(memory.segment(block, byteSize));
 * } finally {
 *     memory.free(block);
 * }
 * }</pre>
 *
 * <p>All that a task has in use is charged to its {@linkplain #budget budget}, which is below that of its executor. A
 * request beyond {@code spark.allocator.taskMemory}, or beyond what the executor has left of
 * {@code spark.allocator.nativeMemory}, throws an {@link allocator.spi.OutOfMemoryException}. A task that lets it pass
 * fails with it, and Spark tries the task again; the executor and its other tasks go on.
 *
 * <p>The memory ends with the task, after the task's own completion listeners: blocks of its allocators that are live
 * then are freed, also if the task failed or was killed, and later calls throw an
 * {@link allocator.spi.AllocatorClosedException}. Threads that the task started must not use its blocks any more, and a
 * GPU must have completed the work on them.
 *
 * <p>Safe for use by any thread while the task runs.
 */
public final class TaskMemory {
    private final ExecutorMemory executor;
    private final TaskContext task;
    private final Budget budget;
    private final ChargedAllocator.OfHost allocator;

    /** Guarded by this. */
    private @Nullable ChargedAllocator gpu;

    private boolean isClosed;

    /**
     * What a task has left.
     *
     * @param freed the bytes of its blocks, which are free now
     * @param charged the bytes that other code has charged to its budget and not released; they stay charged to the
     *     executor
     */
    record Left(long freed, long charged) {}

    TaskMemory(ExecutorMemory executor, TaskContext task, long limit) {
        this.executor = executor;
        this.task = task;
        // The names of budgets are in the messages of failures: with the setting that changes them.
        final String setting =
                limit < executor.host().limit() ? PluginSettings.TASK_MEMORY : PluginSettings.NATIVE_MEMORY;
        budget = executor.host().budget().child(this + " of " + setting, limit);
        allocator = new ChargedAllocator.OfHost(executor.host(), () -> budget);
    }

    /**
     * {@return the memory of the task that the calling thread runs, the same object on every call of one task}
     *
     * @throws IllegalStateException if the thread runs no task, such as a thread that a task started; if the executor
     *     runs without the plug-in; if it could not open its memory; or if the task has ended; with the reason
     */
    public static TaskMemory current() {
        final TaskContext task = TaskContext.get();
        if (task == null) {
            throw new IllegalStateException(
                    "this thread runs no task of Spark; get the memory on the thread of the task,"
                            + " and hand it to the others");
        }
        return ExecutorSide.memory().of(task);
    }

    /**
     * {@return the allocator of host memory of this task, the same on every call} It frees its own blocks only. Its
     * statistics are those of the executor's memory, which all tasks share; {@link Budget#status} has the figures of
     * this task.
     */
    public HostAccessibleAllocator allocator() {
        return allocator;
    }

    /**
     * {@return the budget of host memory of this task, to charge memory that other code allocates} It grants nothing
     * after the task, and what is charged then stays charged to the executor until it is released; a line of the log
     * warns of it.
     */
    public Budget budget() {
        return budget;
    }

    /**
     * {@return the ordinal of the GPU that Spark assigned to this task: the first address of the resource {@code gpu}}
     *
     * @throws IllegalStateException if Spark assigned none
     */
    public int gpuOrdinal() {
        final List<Integer> assigned = Gpus.assigned(task.resourcesJMap());
        if (assigned.isEmpty()) {
            throw new IllegalStateException(
                    "Spark assigned no gpu to " + this + "; set spark.task.resource.gpu.amount");
        }
        return assigned.getFirst();
    }

    /**
     * Returns the allocator of the memory of the GPU that Spark assigned to this task. It frees its own blocks only.
     * They are charged to the executor's limit of that GPU, {@code spark.allocator.gpuMemory}, which its tasks share.
     *
     * @return the allocator, the same on every call
     * @throws IllegalStateException if Spark assigned none, the executor has no memory of it, or the task has ended
     */
    public synchronized Allocator gpuAllocator() {
        if (isClosed) {
            throw new IllegalStateException(this + " has ended");
        }
        ChargedAllocator made = gpu;
        if (made == null) {
            final int ordinal = gpuOrdinal();
            final LimitedMemory memory = executor.gpus().get(ordinal);
            if (memory == null) {
                throw new IllegalStateException("this executor has no memory of gpu:" + ordinal + ", only of "
                        + executor.gpus().keySet() + "; set " + PluginSettings.GPU_MEMORY);
            }
            final Budget ofGpu = memory.budget().child(toString(), Budget.UNLIMITED);
            made = new ChargedAllocator(memory, () -> ofGpu);
            gpu = made;
        }
        return made;
    }

    /** Returns whether this is the memory of a task. */
    @SuppressWarnings("ReferenceEquality") // a task has one context
    boolean isOf(TaskContext other) {
        return task == other;
    }

    /** Ends the memory, and returns what the task has left. */
    synchronized Left close() {
        isClosed = true;
        final Failures failures = new Failures();
        final long bytes = closed(allocator, failures) + closed(gpu, failures);
        budget.close();
        failures.throwIfAny();
        return new Left(bytes, budget.status().charge());
    }

    private static long closed(@Nullable ChargedAllocator one, Failures failures) {
        try {
            return one == null ? 0 : one.close();
        } catch (RuntimeException e) {
            failures.add(e);
            return 0;
        }
    }

    @Override
    public String toString() {
        return "task " + task.partitionId() + "." + task.attemptNumber() + " of stage " + task.stageId() + " (TID "
                + task.taskAttemptId() + ")";
    }
}
