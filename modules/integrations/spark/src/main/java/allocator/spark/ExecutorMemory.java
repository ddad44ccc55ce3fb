package allocator.spark;

import allocator.provider.support.NamedProvider;
import allocator.provider.support.budget.Budget;
import allocator.provider.support.internal.Failures;
import java.lang.System.Logger.Level;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.TaskContext;
import org.apache.spark.resource.ResourceInformation;
import org.apache.spark.util.TaskCompletionListener;
import org.jspecify.annotations.Nullable;

/**
 * The native memory of an executor: host memory, the memory of each of its GPUs, and the memories of its running tasks,
 * which take from these. Safe for use by any thread.
 */
final class ExecutorMemory implements AutoCloseable {
    /** Says that memory could not be returned, and why. */
    static final String KEPT = "native memory stays until the process ends: {0}";

    private static final System.Logger LOG = System.getLogger("allocator.spark");

    private final PluginSettings settings;
    private final LimitedMemory host;
    private final Map<Integer, LimitedMemory> gpus;
    private final Map<Long, TaskMemory> tasks = new ConcurrentHashMap<>();

    /** Made by the first inference, since ONNX Runtime is optional. Guarded by this. */
    private @Nullable InferenceSessions sessions;

    /** Whether the executor has ended: no task begins any more. Guarded by this. */
    private boolean isEnding;

    /** Guarded by this. */
    private boolean isClosed;

    private ExecutorMemory(PluginSettings settings, LimitedMemory host, Map<Integer, LimitedMemory> gpus) {
        this.settings = settings;
        this.host = host;
        this.gpus = gpus;
    }

    /**
     * Opens the memory.
     *
     * @param name the executor's name, for messages
     * @param resources what Spark assigned to it
     * @throws IllegalStateException if memory of GPUs is wanted and there is no GPU, or its address is no ordinal; or
     *     if a provider has no native access
     * @throws IllegalArgumentException if there is no such provider, or it has no such memory
     * @throws allocator.spi.InvalidOptionException if an option is unknown or its value not accepted
     */
    static ExecutorMemory open(String name, PluginSettings settings, Map<String, ResourceInformation> resources) {
        final LimitedMemory host = LimitedMemory.open(
                name + " of " + PluginSettings.NATIVE_MEMORY,
                settings.provider(),
                settings.options(),
                NamedProvider::cpuMemory,
                settings.nativeMemory());
        final Map<Integer, LimitedMemory> gpus = new TreeMap<>();
        try {
            if (settings.gpuMemory() > 0) {
                final List<Integer> assigned = Gpus.assigned(resources);
                if (assigned.isEmpty()) {
                    throw new IllegalStateException(PluginSettings.GPU_MEMORY
                            + " is set, but Spark assigned no gpu; set" + " spark.executor.resource.gpu.amount");
                }
                assigned.forEach(ordinal -> gpus.put(ordinal, openGpu(name, settings, ordinal)));
            }
            return new ExecutorMemory(settings, host, gpus);
        } catch (Throwable e) {
            final Failures failures = new Failures();
            failures.add(e);
            gpus.values().forEach(gpu -> failures.run(gpu::close));
            failures.run(host::close);
            throw e;
        }
    }

    private static LimitedMemory openGpu(String name, PluginSettings settings, int ordinal) {
        return LimitedMemory.open(
                name + " gpu:" + ordinal + " of " + PluginSettings.GPU_MEMORY,
                settings.gpuProvider(),
                settings.gpuOptions(),
                provider -> Gpus.memory(provider, ordinal),
                settings.gpuMemory());
    }

    LimitedMemory host() {
        return host;
    }

    /** Returns the memories of GPUs by their ordinals. */
    Map<Integer, LimitedMemory> gpus() {
        return gpus;
    }

    /** Returns the requests of all memories that were rejected. */
    long failures() {
        return host.failures()
                + gpus.values().stream().mapToLong(LimitedMemory::failures).sum();
    }

    /** Returns the number of tasks whose memory is open. */
    long tasks() {
        return tasks.size();
    }

    /** Begins the memory of a task, which ends with it. After the close of this, the task has none. */
    void begin(TaskContext task) {
        final TaskMemory memory = new TaskMemory(this, task, settings.taskMemory());
        synchronized (this) {
            if (isEnding) {
                return;
            }
            tasks.put(task.taskAttemptId(), memory);
        }
        task.addTaskCompletionListener((TaskCompletionListener) ended -> end(ended, memory));
    }

    /**
     * Returns the memory of a running task.
     *
     * @throws IllegalStateException if it has ended
     */
    TaskMemory of(TaskContext task) {
        final TaskMemory memory = memoryOf(task);
        if (memory == null) {
            throw new IllegalStateException("the memory of task " + task.taskAttemptId() + " has ended with it");
        }
        return memory;
    }

    /**
     * Returns the memory of a task, {@code null} if it has none here: in local mode a task may outlive its Spark
     * context, and one of the next context have the same number.
     */
    private @Nullable TaskMemory memoryOf(TaskContext task) {
        final TaskMemory memory = tasks.get(task.taskAttemptId());
        return memory != null && memory.isOf(task) ? memory : null;
    }

    private void end(TaskContext task, TaskMemory memory) {
        try {
            logLeft(task, memory, memory.close());
        } catch (RuntimeException e) {
            // What the task has done is done; a failure here would make Spark run it again.
            LOG.log(Level.WARNING, "native memory of " + memory + " could not be freed", e);
        }
        tasks.remove(task.taskAttemptId());
        try {
            closeIfUnused();
        } catch (RuntimeException e) {
            LOG.log(Level.WARNING, KEPT, Failures.messageOf(e));
        }
    }

    /** Logs what a task has left, in one line: a warning, unless all of it is freed and the task has not succeeded. */
    private static void logLeft(TaskContext task, TaskMemory memory, TaskMemory.Left left) {
        final List<String> parts = new ArrayList<>();
        if (left.freed() > 0) {
            parts.add(left.freed() + " bytes of native memory in use; they are freed");
        }
        if (left.charged() > 0) {
            parts.add(left.charged() + " bytes charged to its budget; they stay charged to the executor until the code"
                    + " that charged them releases them");
        }
        if (!parts.isEmpty()) {
            final boolean isExpected = left.charged() == 0 && (task.isFailed() || task.isInterrupted());
            LOG.log(
                    isExpected ? Level.DEBUG : Level.WARNING,
                    "{0} ended with {1}",
                    memory,
                    String.join("; and with ", parts));
        }
    }

    /** Returns the budget of what the calling thread allocates in a run of a session: its task's, or the executor's. */
    Budget ofCaller() {
        final TaskContext task = TaskContext.get();
        final TaskMemory memory = task == null ? null : memoryOf(task);
        return memory == null ? host.budget() : memory.budget();
    }

    synchronized InferenceSessions sessions() {
        InferenceSessions made = sessions;
        if (made == null) {
            made = new InferenceSessions(this);
            sessions = made;
        }
        return made;
    }

    /**
     * Closes sessions and memories: now, or, as running tasks use them, at the end of the last task. Spark ends an
     * executor without waiting for its tasks, which in local mode go on. All are tried; what fails first is thrown.
     *
     * @throws RuntimeException if tensors or other threads still use them; what they use stays until the process ends
     */
    @Override
    public void close() {
        synchronized (this) {
            isEnding = true;
        }
        closeIfUnused();
    }

    private synchronized void closeIfUnused() {
        if (!isEnding || isClosed || !tasks.isEmpty()) {
            return;
        }
        isClosed = true;
        final Failures failures = new Failures();
        if (sessions != null) {
            failures.run(sessions::close);
        }
        gpus.values().forEach(gpu -> failures.run(gpu::close));
        failures.run(host::close);
        failures.throwIfAny();
    }
}
