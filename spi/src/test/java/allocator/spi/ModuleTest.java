package allocator.spi;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.module.ModuleDescriptor.Requires;
import org.junit.jupiter.api.Test;

class ModuleTest {
    private static final Module MODULE = EpFactory.class.getModule();

    @Test
    void testsRunInTheNamedModule() {
        assertThat(MODULE.getName()).isEqualTo("java.allocator.spi");
    }

    @Test
    void onlyTheBaseModuleIsNeededAtRunTime() {
        assertThat(MODULE.getDescriptor().requires())
                .filteredOn(requires -> !requires.modifiers().contains(Requires.Modifier.STATIC))
                .extracting(Requires::name)
                .containsExactly("java.base");
    }
}
