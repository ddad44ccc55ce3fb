package allocator.spark;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Map;
import java.util.Optional;
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
}
