package allocator.runtime;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.spi.EpFactory;
import org.junit.jupiter.api.Test;

class ModuleTest {
    @Test
    void testsRunInTheNamedModule() {
        assertThat(Environment.class.getModule().getName()).isEqualTo("java.allocator.runtime");
    }

    @Test
    void theModuleUsesTheProviderService() {
        assertThat(Environment.class.getModule().canUse(EpFactory.class)).isTrue();
    }
}
