package allocator.resource;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class ModuleTest {
    @Test
    void testsRunInTheNamedModule() {
        assertThat(MemoryResource.class.getModule().getName()).isEqualTo("java.allocator.resource");
    }
}
