package allocator.onnxruntime.ep.library;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.provider.support.platform.Platform;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class MachineTest {
    @Test
    void linuxOnTwoProcessorsHasCode() {
        assertThat(Machine.of(new Platform("Linux", "amd64"))).isEqualTo(Machine.X86_64);
        assertThat(Machine.of(new Platform("Linux", "aarch64"))).isEqualTo(Machine.AARCH64);
    }

    @ParameterizedTest
    @CsvSource({
        "Windows 11, amd64",
        "Mac OS X, aarch64",
        "Mac OS X, x86_64",
        "FreeBSD, amd64",
        "Linux, riscv64",
        "Linux, arm"
    })
    void otherPlatformsAreRejectedByName(String system, String processor) {
        assertThatThrownBy(() -> Machine.of(new Platform(system, processor)))
                .isInstanceOf(UnsupportedOperationException.class)
                .hasMessageContainingAll(
                        "a plug-in execution provider in Java needs Linux on x86-64 or aarch64",
                        "this is " + system + " on " + processor,
                        "OnnxRuntimeAllocators");
    }
}
