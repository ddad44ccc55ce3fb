package allocator.spark;

import allocator.provider.support.internal.Failures;
import allocator.provider.support.internal.ProviderVersion;
import com.codahale.metrics.Gauge;
import com.codahale.metrics.MetricRegistry;
import java.io.IOException;
import java.lang.System.Logger.Level;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.regex.Pattern;
import org.apache.spark.TaskContext;
import org.apache.spark.api.plugin.ExecutorPlugin;
import org.apache.spark.api.plugin.PluginContext;
import org.jspecify.annotations.Nullable;

/** The plug-in on an executor: opens its memory, begins the memory of each task, and reports to the driver. */
final class ExecutorSide implements ExecutorPlugin {
    /** The version of this project on the driver, beside the settings. */
    static final String VERSION = "version";

    private static final System.Logger LOG = System.getLogger("allocator.spark");

    /** Spark's name of the executor in local mode, which is the driver. */
    private static final String DRIVER = "driver";

    private static final Pattern LINE_BREAK = Pattern.compile("\\R");

    /** Of this process; a process has one executor at a time. */
    private static volatile @Nullable ExecutorSide current;

    private @Nullable PluginContext plugin;
    private @Nullable ExecutorMemory memory;
    private @Nullable String failure;
    private @Nullable Thread reporter;

    ExecutorSide() {}

    /**
     * Returns the memory of this executor.
     *
     * @throws IllegalStateException if there is none, with the reason and what to do
     */
    static ExecutorMemory memory() {
        final ExecutorSide side = current;
        if (side == null) {
            throw new IllegalStateException(
                    "this executor runs without the plug-in of java.allocator, or has ended; set spark.plugins="
                            + AllocatorPlugin.class.getName() + " before the Spark context starts");
        }
        final ExecutorMemory opened = side.memory;
        if (opened == null) {
            throw new IllegalStateException("this executor has no native memory: " + side.failure);
        }
        return opened;
    }

    /** Opens the memory. A failure is kept for the tasks that need it: an exception here would end the executor. */
    @Override
    public void init(PluginContext context, Map<String, String> settings) {
        plugin = context;
        try {
            requireVersion(settings.get(VERSION), ProviderVersion.of(AllocatorPlugin.class));
            final PluginSettings parsed = PluginSettings.ofMessage(settings);
            final ExecutorMemory opened =
                    ExecutorMemory.open("executor " + context.executorID(), parsed, context.resources());
            memory = opened;
            register(context.metricRegistry(), opened);
            if (parsed.reportSeconds() > 0) {
                reporter = Thread.ofPlatform()
                        .daemon()
                        .name("allocator-spark-reports")
                        .start(() -> reportEvery(parsed.reportSeconds()));
            }
        } catch (RuntimeException | LinkageError e) {
            failure = reason(e, context.executorID());
            LOG.log(Level.ERROR, "no native memory", e);
        }
        current = this;
        report();
    }

    /** Returns why memory cannot be opened, in one line; options of the JVM with the setting of Spark that has them. */
    static String reason(Throwable failure, String executor) {
        final String message = LINE_BREAK.matcher(Failures.messageOf(failure)).replaceAll(" ");
        final String side = executor.equals(DRIVER) ? "driver" : "executor";
        return message.contains("--enable-native-access")
                ? message + " in spark." + side + ".extraJavaOptions"
                : message;
    }

    /**
     * Checks that driver and executor are of one version.
     *
     * @throws IllegalStateException if they are not
     */
    static void requireVersion(@Nullable String ofDriver, String own) {
        if (!own.equals(ofDriver)) {
            throw new IllegalStateException("the driver has java.allocator " + (ofDriver == null ? "unknown" : ofDriver)
                    + ", this executor " + own + "; give both the same jars");
        }
    }

    private static void register(MetricRegistry registry, ExecutorMemory memory) {
        register(registry, "", memory.host());
        memory.gpus().forEach((ordinal, gpu) -> register(registry, "gpu." + ordinal + ".", gpu));
        gauge(registry, "tasks", memory::tasks);
    }

    private static void register(MetricRegistry registry, String prefix, LimitedMemory memory) {
        gauge(registry, prefix + "limit", memory::limit);
        gauge(registry, prefix + "held", memory::held);
        gauge(registry, prefix + "inUse", () -> memory.status().charge());
        gauge(registry, prefix + "peak", () -> memory.status().peakCharge());
        gauge(registry, prefix + "failures", memory::failures);
    }

    private static void gauge(MetricRegistry registry, String name, Supplier<Long> number) {
        registry.register(name, (Gauge<Long>) number::get);
    }

    /** Reports at intervals until the thread is interrupted. */
    private void reportEvery(int seconds) {
        try {
            while (true) {
                TimeUnit.SECONDS.sleep(seconds);
                report();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Sends a report to the driver. A driver that cannot be reached is no failure of the executor. */
    private void report() {
        final PluginContext context = plugin;
        if (context == null) {
            return;
        }
        try {
            context.send(newReport(context).toMessage());
        } catch (IOException | RuntimeException e) {
            LOG.log(Level.DEBUG, "a report was not sent", e);
        }
    }

    private ExecutorReport newReport(PluginContext context) {
        final ExecutorMemory opened = memory;
        final long process = ProcessHandle.current().pid();
        if (opened == null) {
            return new ExecutorReport(context.executorID(), process, 0, 0, 0, 0, 0, Optional.ofNullable(failure));
        }
        final LimitedMemory host = opened.host();
        return new ExecutorReport(
                context.executorID(),
                process,
                host.limit(),
                host.held(),
                host.status().charge(),
                host.status().peakCharge(),
                opened.failures(),
                Optional.empty());
    }

    /**
     * Begins the memory of the task of this thread. Its listener is the task's first, so Spark calls it last, and the
     * task's own listeners may still free their blocks.
     */
    @Override
    public void onTaskStart() {
        final ExecutorMemory opened = memory;
        final TaskContext context = TaskContext.get();
        if (opened != null && context != null) {
            opened.begin(context);
        }
    }

    @Override
    public void shutdown() {
        final Thread thread = reporter;
        if (thread != null) {
            thread.interrupt();
        }
        report();
        current = null;
        final ExecutorMemory opened = memory;
        if (opened != null) {
            try {
                opened.close();
            } catch (RuntimeException e) {
                LOG.log(Level.WARNING, ExecutorMemory.KEPT, Failures.messageOf(e));
            }
        }
    }
}
