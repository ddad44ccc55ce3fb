package allocator.resource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import allocator.provider.support.platform.Platform;
import allocator.spi.UnsupportedMemoryException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** On which platforms there is such a resource. */
class HostResourceTest {
    @ParameterizedTest
    @CsvSource({"Linux, aarch64", "Mac OS X, aarch64", "Windows 11, amd64"})
    void everyPlatformOf64BitsIsServed(String system, String processor) {
        try (HostResource resource = new HostResource(new Platform(system, processor))) {
            final long address = resource.allocate(100, 4096);
            assertThat(address % 4096).isZero();
            resource.deallocate(address, 100, 4096);
        }
    }

    @Test
    void lessThan64BitsAreRefusedByName() {
        assertThatExceptionOfType(UnsupportedMemoryException.class)
                .isThrownBy(() -> new HostResource(new Platform("Linux", "arm")))
                .withMessageContainingAll("a processor of 64 bits", "this is Linux on arm");
    }
}
