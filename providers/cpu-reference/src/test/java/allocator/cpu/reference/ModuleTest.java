package allocator.cpu.reference;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.spi.EpFactory;
import org.junit.jupiter.api.Test;

class ModuleTest {
    private static final Module MODULE = CpuReferenceFactory.class.getModule();

    @Test
    void testsRunInTheNamedModule() {
        assertThat(MODULE.getName()).isEqualTo("java.allocator.cpu.reference");
    }

    @Test
    void theModuleProvidesTheFactory() {
        assertThat(MODULE.getDescriptor().provides()).singleElement().satisfies(provides -> {
            assertThat(provides.service()).isEqualTo(EpFactory.class.getName());
            assertThat(provides.providers()).containsExactly(CpuReferenceFactory.class.getName());
        });
    }
}
