package allocator.cuda.driver.libcuda;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.provider.support.platform.Platform;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class PrerequisitesTest {
    @ParameterizedTest
    @CsvSource({"Linux, aarch64", "Linux, ppc64le", "Mac OS X, x86_64", "Mac OS X, aarch64", "Windows 11, amd64"})
    void aPlatformWithoutNativesIsRefusedByName(String system, String processor) {
        assertThat(Prerequisites.firstUnmet(new Platform(system, processor)))
                .startsWith("memory of CUDA devices needs Linux on x86-64")
                .contains("this is " + system + " on " + processor, "Use cpu-reference");
    }

    /** Whether it has a driver or not, the platform is not why. */
    @Test
    void thePlatformWithNativesIsNotRefused() {
        final String unmet = Prerequisites.firstUnmet(new Platform("Linux", "amd64"));
        assertThat(unmet == null ? "all met" : unmet).doesNotContain("Linux on x86-64");
    }
}
