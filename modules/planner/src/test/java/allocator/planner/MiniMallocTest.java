package allocator.planner;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.plan.Instance;
import allocator.plan.Plan;
import allocator.plan.PlanFile;
import allocator.plan.PlanFileException;
import java.net.URISyntaxException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Objects;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The inputs that MiniMalloc calls challenging. */
class MiniMallocTest {
    private static final long CAPACITY = 1 << 20;

    @ParameterizedTest
    @ValueSource(strings = {"A", "B", "C", "D", "E", "F", "G", "H", "I", "J", "K"})
    void fitsIntoTheCapacity(String name) throws PlanFileException, URISyntaxException {
        final String file = "minimalloc/" + name + ".1048576.csv";
        final Instance instance = PlanFile.read(
                        Path.of(Objects.requireNonNull(MiniMallocTest.class.getResource(file), file)
                                .toURI()))
                .instance();
        final Plan plan = Planner.builder()
                .capacity(CAPACITY)
                .stepLimit(3_000_000)
                .timeLimit(Duration.ofHours(1))
                .build()
                .plan(instance);
        PlanValidator.requireValid(instance, plan);
        assertThat(plan.fits(CAPACITY)).as("%s", plan).isTrue();
    }
}
