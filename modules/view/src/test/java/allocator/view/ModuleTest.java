package allocator.view;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class ModuleTest {
    @Test
    void testsRunInTheNamedModule() {
        assertThat(Page.class.getModule().getName()).isEqualTo("java.allocator.view");
    }
}
