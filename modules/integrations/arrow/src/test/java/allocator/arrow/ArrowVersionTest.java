package allocator.arrow;

import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.NullAndEmptySource;
import org.junit.jupiter.params.provider.ValueSource;

class ArrowVersionTest {
    @ParameterizedTest
    @ValueSource(strings = {"18.0.0", "18.3.0", "19.0.0", "19.1.0-SNAPSHOT", "20.0.0", "of our own"})
    @NullAndEmptySource
    void supportedAndUnknownOnesPass(String version) {
        assertThatCode(() -> ArrowVersion.requireSupported(version, "")).doesNotThrowAnyException();
    }

    @Test
    void anOlderOneIsNamedWithItsJar() {
        assertThatThrownBy(() -> ArrowVersion.requireSupported("17.0.0", " at file:/lib/core.jar"))
                .isInstanceOf(IllegalStateException.class)
                .hasMessage("arrow-memory-core is 17.0.0 at file:/lib/core.jar; java.allocator.arrow needs 18 to 19");
    }

    @Test
    void theOneOnThePathPasses() {
        assertThatCode(ArrowVersion::requireSupported).doesNotThrowAnyException();
    }
}
