package allocator.bench.gpu;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.provider.support.budget.Budget;
import allocator.spi.DeviceType;
import allocator.spi.MemoryLocation;
import allocator.spi.MemoryType;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class BudgetCostTest {
    @TempDir
    private Path folder;

    private final Budget host = Budget.ofDevice(new MemoryLocation(DeviceType.CPU, 0, 0, MemoryType.DEFAULT));

    @AfterEach
    void noLimitStays() {
        assertThat(host.isLimited()).isFalse();
        assertThat(host.status().peakCharge()).isPositive();
    }

    @Test
    @Tag("thorough")
    void pairsAreMeasuredWithBudgetsAndWithout() throws Exception {
        final Path results = folder.resolve("results.csv");
        new BudgetCost("cpu-reference").run(results, 0, 1);
        final Measurements measured = Measurements.read(results);
        assertThat(measured.subjectsWith("ns_per_warm_pair", 1))
                .containsExactly(
                        "cpu-reference session",
                        "cpu-reference session; device limit",
                        "cpu-reference resource",
                        "cpu-reference resource; BudgetResource");
        assertThat(measured.subjectsWith("ns_added_by_budget", 1)).hasSize(2);
    }
}
