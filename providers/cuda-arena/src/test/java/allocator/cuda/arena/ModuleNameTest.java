package allocator.cuda.arena;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class ModuleNameTest {
    @Test
    void testsRunInTheModule() {
        assertThat(CudaArenaFactory.class.getModule().getName()).isEqualTo("java.allocator.cuda.arena");
    }
}
