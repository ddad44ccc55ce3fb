package allocator.onnxruntime.ep.library;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class MachineTest {
    @Test
    void linuxOnTwoProcessorsHasCode() {
        assertThat(Machine.of("Linux", "amd64")).isEqualTo(Machine.X86_64);
        assertThat(Machine.of("Linux", "aarch64")).isEqualTo(Machine.AARCH64);
    }

    @ParameterizedTest
    @CsvSource({"Windows 11, amd64", "Mac OS X, aarch64", "Linux, riscv64"})
    void otherPlatformsAreRejectedByName(String system, String processor) {
        assertThatThrownBy(() -> Machine.of(system, processor))
                .isInstanceOf(UnsupportedOperationException.class)
                .hasMessageContaining("this is " + system + " on " + processor);
    }
}
