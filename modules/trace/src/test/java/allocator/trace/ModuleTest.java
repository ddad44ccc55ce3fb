package allocator.trace;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class ModuleTest {
    @Test
    void testsRunInTheNamedModule() {
        assertThat(Trace.class.getModule().getName()).isEqualTo("java.allocator.trace");
    }
}
