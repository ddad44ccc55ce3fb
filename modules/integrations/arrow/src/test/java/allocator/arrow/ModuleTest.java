package allocator.arrow;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class ModuleTest {
    @Test
    void theModuleHasItsName() {
        assertThat(ArrowMemory.class.getModule().getName()).isEqualTo("java.allocator.arrow");
    }
}
