package allocator.arena;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class ModuleTest {

    @Test
    void testsRunInTheModule() {
        assertThat(BfcArena.class.getModule().getName()).isEqualTo("java.allocator.arena");
    }
}
