package allocator.cuda.arena;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.cuda.simulated.SimulatedCudaDriver;
import allocator.runtime.AllocatorReport;
import allocator.runtime.Environment;
import allocator.runtime.EnvironmentBuilder;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What an environment reports, and warns of, where a setting is served by one memory only or with another value. */
class SettingsReportTest {
    private final Logger logger = Logger.getLogger("allocator.runtime");
    private final List<String> warnings = new ArrayList<>();
    private final Handler handler = new Handler() {
        @Override
        public void publish(LogRecord record) {
            if (record.getLevel().equals(Level.WARNING)) {
                warnings.add(record.getMessage());
            }
        }

        @Override
        public void flush() {}

        @Override
        public void close() {}
    };

    SettingsReportTest() {
        logger.addHandler(handler);
    }

    @AfterEach
    void close() {
        logger.removeHandler(handler);
    }

    /** Returns what is not effective on the device's memory, as {@code key=value: reason}. */
    private static List<String> differences(SimulatedCudaDriver.Builder simulated, Map<String, String> settings) {
        final EnvironmentBuilder builder = Environment.builder().modulePathProviders(false);
        settings.forEach((key, value) -> builder.option("ep_factory.cuda-arena." + key, value));
        try (SimulatedCudaDriver driver = simulated.build();
                Environment environment = builder.build()) {
            environment.register(driver.provider("cuda-arena"));
            return environment.sharedAllocators().getFirst().report().settings().stream()
                    .filter(setting -> !setting.isEffective())
                    .map(SettingsReportTest::text)
                    .toList();
        }
    }

    private static String text(AllocatorReport.Setting setting) {
        return setting.key() + "=" + setting.requested() + ": " + setting.why();
    }

    @Test
    void aPoolOfTheDriverWithARoundedLimitIsNoWarning() {
        assertThat(differences(
                        SimulatedCudaDriver.builder().withDevices(2),
                        Map.of("arena.use_cuda_mempool", "1", "arena.max_mem", "1000000000")))
                .contains("arena.max_mem=1000000000: rounded up to 1006632960");
        assertThat(warnings).isEmpty();
    }

    @Test
    void aLimitWithoutRoomForAPageIsTheReasonForAnotherPolicy() {
        assertThat(differences(
                        SimulatedCudaDriver.builder(), Map.of("arena.policy", "compact", "arena.max_mem", "1000000")))
                .contains("arena.policy=compact: needs memory by the page, and a limit of a page at least");
        assertThat(warnings).hasSize(1);
    }

    @Test
    void aDeviceWithoutPoolsIsTheReasonForAnArena() {
        assertThat(differences(
                        SimulatedCudaDriver.builder().withoutMemoryPools(), Map.of("arena.use_cuda_mempool", "1")))
                .contains("arena.use_cuda_mempool=1: is not possible: the device has no memory pools");
        assertThat(warnings).hasSize(1);
    }
}
