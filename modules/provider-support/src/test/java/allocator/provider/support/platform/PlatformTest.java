package allocator.provider.support.platform;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class PlatformTest {
    @ParameterizedTest
    @CsvSource({
        "Linux, LINUX",
        "Mac OS X, MACOS",
        "Windows 11, WINDOWS",
        "Windows Server 2025, WINDOWS",
        "AIX, OTHER",
        "FreeBSD, OTHER",
        "linux, OTHER",
    })
    void theSystemIsThatOfTheName(String name, OperatingSystem system) {
        assertThat(new Platform(name, "amd64").system()).isEqualTo(system);
    }

    @ParameterizedTest
    @CsvSource({
        "amd64, X86_64, true",
        "x86_64, X86_64, true",
        "aarch64, AARCH64, true",
        "arm64, AARCH64, true",
        "ppc64le, OTHER_64_BIT, true",
        "riscv64, OTHER_64_BIT, true",
        "s390x, OTHER_64_BIT, true",
        "loongarch64, OTHER_64_BIT, true",
        "arm, OTHER, false",
        "x86, OTHER, false",
        "mips64el, OTHER, false",
    })
    void theProcessorIsThatOfTheArchitecture(String name, Processor processor, boolean has64Bits) {
        assertThat(new Platform("Linux", name).processor()).isEqualTo(processor);
        assertThat(processor.has64Bits()).isEqualTo(has64Bits);
    }

    @Test
    void bothMustBeTheSame() {
        final Platform platform = new Platform("Mac OS X", "aarch64");
        assertThat(platform.is(OperatingSystem.MACOS, Processor.AARCH64)).isTrue();
        assertThat(platform.is(OperatingSystem.MACOS, Processor.X86_64)).isFalse();
        assertThat(platform.is(OperatingSystem.LINUX, Processor.AARCH64)).isFalse();
    }

    @Test
    void theMessageNamesPartNeedPlatformAndWayOut() {
        assertThat(new Platform("Windows 11", "amd64").lacks("arena.policy=compact", "Linux", "Use best-fit"))
                .isEqualTo("arena.policy=compact needs Linux; this is Windows 11 on amd64. Use best-fit");
    }

    @Test
    void theCurrentOneIsThatOfTheProperties() {
        assertThat(Platform.current())
                .hasToString(System.getProperty("os.name") + " on " + System.getProperty("os.arch"));
    }
}
