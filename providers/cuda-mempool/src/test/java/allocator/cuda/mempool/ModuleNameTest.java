package allocator.cuda.mempool;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class ModuleNameTest {
    @Test
    void testsRunInTheModule() {
        assertThat(CudaMempoolFactory.class.getModule().getName()).isEqualTo("java.allocator.cuda.mempool");
    }
}
