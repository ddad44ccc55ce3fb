package allocator.spark;

import allocator.provider.support.Limit;
import allocator.provider.support.NamedProvider;
import allocator.provider.support.internal.ProviderVersion;
import allocator.spi.EpFactory;
import allocator.spi.InvalidOptionException;
import com.codahale.metrics.Gauge;
import com.codahale.metrics.MetricRegistry;
import java.lang.System.Logger.Level;
import java.util.List;
import java.util.Map;
import java.util.ServiceLoader;
import java.util.function.Supplier;
import java.util.function.ToLongFunction;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkContext;
import org.apache.spark.api.plugin.DriverPlugin;
import org.apache.spark.api.plugin.PluginContext;
import org.jspecify.annotations.Nullable;

/** The plug-in on the driver: checks the settings, hands them to the executors, and gathers their reports. */
final class DriverSide implements DriverPlugin {
    private static final System.Logger LOG = System.getLogger("allocator.spark");

    /** Of the Spark context of this process, or of the last one that it had. */
    private static volatile @Nullable DriverSide current;

    private final ExecutorReports reports = new ExecutorReports();

    DriverSide() {}

    static List<ExecutorReport> reports() {
        final DriverSide side = current;
        return side == null ? List.of() : side.reports.all();
    }

    /**
     * Returns the settings for the executors.
     *
     * @throws InvalidOptionException if a setting is wrong, or there is no such provider
     */
    @Override
    public Map<String, String> init(SparkContext context, PluginContext plugin) {
        final SparkConf conf = plugin.conf();
        final PluginSettings settings = PluginSettings.of(conf);
        requireProvider(settings);
        final long overhead = PluginSettings.overhead(conf);
        if (settings.nativeMemory() > overhead) {
            LOG.log(
                    Level.WARNING,
                    "{0} is {1} bytes, but an executor has {2} beyond its heap: a container may be killed;"
                            + " set spark.executor.memoryOverhead",
                    PluginSettings.NATIVE_MEMORY,
                    settings.nativeMemory(),
                    overhead);
        }
        context.addSparkListener(reports.listener());
        current = this;
        final Map<String, String> message = settings.toMessage();
        message.put(ExecutorSide.VERSION, ProviderVersion.of(AllocatorPlugin.class));
        return message;
    }

    /** Checks the provider of host memory and its options. That of GPUs may be on executors only. */
    private static void requireProvider(PluginSettings settings) {
        try (EpFactory provider = provider(settings.provider())) {
            settings.options()
                    .with(Limit.KEY.name(), Long.toString(settings.nativeMemory()), PluginSettings.NATIVE_MEMORY)
                    .requireValid(provider.optionKeys());
        }
    }

    private static EpFactory provider(String name) {
        try {
            return NamedProvider.find(ServiceLoader.load(EpFactory.class, DriverSide.class.getClassLoader()), name);
        } catch (IllegalArgumentException e) {
            throw new InvalidOptionException(
                    PluginSettings.PROVIDER, name, "usable: " + e.getMessage(), PluginSettings.ORIGIN);
        }
    }

    /** Registers what the executors that run have together, and the failures of all that ever ran. */
    @Override
    public void registerMetrics(String applicationId, PluginContext plugin) {
        final MetricRegistry registry = plugin.metricRegistry();
        registry.register(
                "executors", (Gauge<Integer>) () -> reports.ofRunning().size());
        registerSum(registry, "held", reports::ofRunning, ExecutorReport::held);
        registerSum(registry, "inUse", reports::ofRunning, ExecutorReport::inUse);
        registerSum(registry, "failures", reports::all, ExecutorReport::failures);
    }

    private static void registerSum(
            MetricRegistry registry,
            String name,
            Supplier<List<ExecutorReport>> of,
            ToLongFunction<ExecutorReport> number) {
        registry.register(
                name, (Gauge<Long>) () -> of.get().stream().mapToLong(number).sum());
    }

    /** Stores a report. The executor waits for no reply. */
    @Override
    public @Nullable Object receive(Object message) {
        if (message instanceof Map<?, ?> report) {
            reports.add(ExecutorReport.of(report));
        }
        return null;
    }
}
