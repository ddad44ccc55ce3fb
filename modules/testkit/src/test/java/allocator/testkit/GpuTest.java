package allocator.testkit;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.opentest4j.AssertionFailedError;
import org.opentest4j.TestAbortedException;

class GpuTest {
    private static final String REQUIRED = "allocator.gpu.required";

    private final String set = System.getProperty(REQUIRED);

    @AfterEach
    void restore() {
        require(set);
    }

    private static void require(String value) {
        if (value == null) {
            System.clearProperty(REQUIRED);
        } else {
            System.setProperty(REQUIRED, value);
        }
    }

    @Test
    void aTestWithoutItsGpuIsSkipped() {
        require(null);
        assertThatThrownBy(() -> Gpu.absent("no driver"))
                .isInstanceOf(TestAbortedException.class)
                .hasMessageContaining("no driver");
    }

    @Test
    void aTestWithoutARequiredGpuFails() {
        require("true");
        assertThatThrownBy(() -> Gpu.absent("no driver"))
                .isInstanceOf(AssertionFailedError.class)
                .hasMessage("allocator.gpu.required is set, but no driver");
    }
}
