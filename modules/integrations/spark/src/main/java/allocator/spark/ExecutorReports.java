package allocator.spark;

import java.lang.System.Logger.Level;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentSkipListMap;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerExecutorAdded;
import org.apache.spark.scheduler.SparkListenerExecutorRemoved;

/** The newest report of each executor, and those that end without one. Safe for use by any thread. */
final class ExecutorReports {
    private static final System.Logger LOG = System.getLogger("allocator.spark");

    private final Map<String, ExecutorReport> newest = new ConcurrentSkipListMap<>();
    private final Set<String> added = ConcurrentHashMap.newKeySet();
    private final Set<String> ended = ConcurrentHashMap.newKeySet();

    void add(ExecutorReport report) {
        final ExecutorReport before = newest.put(report.executor(), report);
        if (before == null) {
            report.failure()
                    .ifPresent(reason ->
                            LOG.log(Level.ERROR, "executor {0} has no native memory: {1}", report.executor(), reason));
        }
    }

    List<ExecutorReport> all() {
        return List.copyOf(newest.values());
    }

    /** Returns the reports of the executors that have not ended. */
    List<ExecutorReport> ofRunning() {
        return newest.values().stream()
                .filter(report -> !ended.contains(report.executor()))
                .toList();
    }

    SparkListener listener() {
        return new Executors();
    }

    /** Returns what to do about an executor that ended, empty if it had reported. */
    String complaint(String executor, String reason) {
        return newest.containsKey(executor)
                ? ""
                : "executor " + executor + " ended before it reported native memory (" + reason
                        + "): the jars of java.allocator must be on each executor, by spark.executor.extraClassPath or"
                        + " --jars, in the driver's version";
    }

    /** An executor without our jars ends when it loads the plug-in, so only the driver can say why. */
    private final class Executors extends SparkListener {
        @Override
        public void onExecutorAdded(SparkListenerExecutorAdded event) {
            added.add(event.executorId());
        }

        @Override
        public void onExecutorRemoved(SparkListenerExecutorRemoved event) {
            ended.add(event.executorId());
            if (added.remove(event.executorId())) {
                final String complaint = complaint(event.executorId(), event.reason());
                if (!complaint.isEmpty()) {
                    LOG.log(Level.ERROR, complaint);
                }
            }
        }
    }
}
