package allocator.plan;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class ModuleTest {
    @Test
    void testsRunInTheNamedModule() {
        assertThat(Plan.class.getModule().getName()).isEqualTo("java.allocator.plan");
    }
}
