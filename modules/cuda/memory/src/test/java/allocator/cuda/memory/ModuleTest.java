package allocator.cuda.memory;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class ModuleTest {
    @Test
    void testsRunInTheModule() {
        assertThat(CudaEpFactory.class.getModule().getName()).isEqualTo("java.allocator.cuda.memory");
    }
}
