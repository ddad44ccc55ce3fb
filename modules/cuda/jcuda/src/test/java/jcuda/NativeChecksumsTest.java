package jcuda;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class NativeChecksumsTest {
    @TempDir
    private Path folder;

    @ParameterizedTest
    @ValueSource(strings = {"libJCudaDriver-12.6.0-linux-x86_64.so", "libJCudaRuntime-12.6.0-linux-x86_64.so"})
    void everyLibraryOfTheModuleIsKnown(String name) throws Exception {
        final Path copy = copy(name);
        assertThatCode(() -> NativeChecksums.require(copy)).doesNotThrowAnyException();
    }

    @Test
    void aShortenedLibraryIsRefusedByName() throws Exception {
        final Path copy = copy("libJCudaDriver-12.6.0-linux-x86_64.so");
        Files.write(copy, new byte[1000]);
        assertThatThrownBy(() -> NativeChecksums.require(copy))
                .isInstanceOf(UnsatisfiedLinkError.class)
                .hasMessageStartingWith("libJCudaDriver-12.6.0-linux-x86_64.so is not the library")
                .hasMessageContaining("541b3e9daa09b20bf85fa273e5cbd3e80185aa4ec298e765db87742b70138a53");
    }

    @Test
    void anUnknownLibraryIsRefusedByName() throws Exception {
        final Path other = Files.createFile(folder.resolve("libother.so"));
        assertThatThrownBy(() -> NativeChecksums.require(other))
                .isInstanceOf(UnsatisfiedLinkError.class)
                .hasMessage("module jcuda has no checksum of libother.so");
    }

    private Path copy(String name) throws IOException {
        try (InputStream library = NativeChecksums.class.getResourceAsStream("/lib/" + name)) {
            assertThat(library).as(name).isNotNull();
            final Path copy = folder.resolve(name);
            Files.copy(library, copy);
            return copy;
        }
    }
}
