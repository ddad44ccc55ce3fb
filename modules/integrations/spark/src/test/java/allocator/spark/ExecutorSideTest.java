package allocator.spark;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Map;
import java.util.Optional;
import org.apache.spark.scheduler.SparkListenerExecutorRemoved;
import org.junit.jupiter.api.Test;

class ExecutorSideTest {
    @Test
    void driverAndExecutorAreOfOneVersion() {
        ExecutorSide.requireVersion("1.2", "1.2");
        assertThatThrownBy(() -> ExecutorSide.requireVersion("1.3", "1.2"))
                .isInstanceOf(IllegalStateException.class)
                .hasMessage("the driver has java.allocator 1.3, this executor 1.2; give both the same jars");
        assertThatThrownBy(() -> ExecutorSide.requireVersion(null, "1.2")).hasMessageContaining("unknown");
    }

    @Test
    void aThreadWithoutATaskHasNoMemory() {
        assertThatThrownBy(TaskMemory::current)
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("get the memory on the thread of the task");
    }

    @Test
    void reportsPassAsMessages() {
        final ExecutorReport report = new ExecutorReport("7", 42, 6, 5, 4, 3, 2, Optional.of("why"));
        assertThat(ExecutorReport.of(report.toMessage())).isEqualTo(report);
        assertThat(ExecutorReport.of(Map.of("executor", "8", "more", "of a later version")))
                .isEqualTo(new ExecutorReport("8", 0, 0, 0, 0, 0, 0, Optional.empty()));
    }

    @Test
    void anExecutorThatEndsBeforeItsReportIsExplained() {
        final ExecutorReports reports = new ExecutorReports();
        assertThat(reports.complaint("3", "Unable to create executor"))
                .contains("executor 3", "Unable to create executor", "spark.executor.extraClassPath");
        reports.add(new ExecutorReport("3", 0, 0, 0, 0, 0, 0, Optional.empty()));
        assertThat(reports.complaint("3", "killed")).isEmpty();
    }

    @Test
    void executorsThatHaveEndedAreNotAmongThoseThatRun() {
        final ExecutorReports reports = new ExecutorReports();
        final ExecutorReport first = new ExecutorReport("1", 0, 0, 7, 0, 0, 0, Optional.empty());
        final ExecutorReport second = new ExecutorReport("2", 0, 0, 8, 0, 0, 0, Optional.empty());
        reports.add(first);
        reports.add(second);
        reports.listener().onExecutorRemoved(new SparkListenerExecutorRemoved(0, "1", "killed"));
        reports.add(first); // its last, which comes late
        assertThat(reports.ofRunning()).containsExactly(second);
        assertThat(reports.all()).containsExactly(first, second);
    }

    @Test
    void aFlagIsNamedWithTheSettingOfTheProcessThatNeedsIt() {
        final Exception failure = new IllegalStateException("start java with --enable-native-access=ALL-UNNAMED");
        assertThat(ExecutorSide.reason(failure, "1")).endsWith(" in spark.executor.extraJavaOptions");
        assertThat(ExecutorSide.reason(failure, "driver")).endsWith(" in spark.driver.extraJavaOptions");
    }
}
