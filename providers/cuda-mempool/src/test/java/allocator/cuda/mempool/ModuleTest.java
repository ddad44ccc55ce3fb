package allocator.cuda.mempool;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.spi.EpFactory;
import org.junit.jupiter.api.Test;

class ModuleTest {
    private static final Module MODULE = CudaMempoolFactory.class.getModule();

    @Test
    void testsRunInTheNamedModule() {
        assertThat(MODULE.getName()).isEqualTo("java.allocator.cuda.mempool");
    }

    @Test
    void theModuleProvidesTheFactory() {
        assertThat(MODULE.getDescriptor().provides()).singleElement().satisfies(provides -> {
            assertThat(provides.service()).isEqualTo(EpFactory.class.getName());
            assertThat(provides.providers()).containsExactly(CudaMempoolFactory.class.getName());
        });
    }
}
