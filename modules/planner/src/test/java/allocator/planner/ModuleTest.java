package allocator.planner;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class ModuleTest {
    @Test
    void testsRunInTheNamedModule() {
        assertThat(Planner.class.getModule().getName()).isEqualTo("java.allocator.planner");
    }
}
