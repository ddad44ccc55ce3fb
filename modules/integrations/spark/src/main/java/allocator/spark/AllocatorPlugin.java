package allocator.spark;

import java.util.List;
import org.apache.spark.api.plugin.DriverPlugin;
import org.apache.spark.api.plugin.ExecutorPlugin;
import org.apache.spark.api.plugin.SparkPlugin;

/**
 * The plug-in of Spark that gives each executor native memory with a limit:
 * {@code spark.plugins=allocator.spark.AllocatorPlugin}.
 *
 * <p>The driver reads and checks the settings {@code spark.allocator.*}; a wrong one fails the start of the Spark
 * context with an {@link allocator.spi.InvalidOptionException}. Each executor opens one memory with these settings
 * before its first task. If it cannot, the executor lives, and each use of {@link TaskMemory} there throws the reason,
 * which the driver logs as well.
 */
public final class AllocatorPlugin implements SparkPlugin {
    /** Creates the plug-in; Spark calls this, on the driver and on each executor. */
    public AllocatorPlugin() {}

    @Override
    public DriverPlugin driverPlugin() {
        return new DriverSide();
    }

    @Override
    public ExecutorPlugin executorPlugin() {
        return new ExecutorSide();
    }

    /**
     * {@return the newest report of each executor that has sent one, also of those that have ended, of the last Spark
     * context of this process that had the plug-in, in the order of the executors' names; empty if there was none} An
     * executor reports at its start, every {@code spark.allocator.reportSeconds} seconds, and at its end if it ends by
     * itself. To be called on the driver, by any thread.
     */
    public static List<ExecutorReport> reports() {
        return DriverSide.reports();
    }
}
