package jcuda;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;
import jcuda.driver.JCudaDriver;
import jcuda.runtime.JCuda;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class NativeLoadingTest {
    @TempDir
    Path temporary;

    @Test
    void theClassesAreInTheModuleJcuda() {
        assertThat(JCudaDriver.class.getModule().getName()).isEqualTo("jcuda");
        assertThat(JCuda.class.getModule().isNamed()).isTrue();
    }

    @Test
    void theModuleCarriesTheLicenceOfJCuda() throws IOException {
        try (var licence = JCudaVersion.class.getResourceAsStream("/META-INF/LICENSE-JCuda.txt")) {
            assertThat(licence).isNotNull();
            assertThat(new String(licence.readAllBytes(), StandardCharsets.UTF_8))
                    .contains("Marco Hutter", "WITHOUT WARRANTY OF ANY KIND");
        }
    }

    @ParameterizedTest
    @CsvSource({
        "Linux, amd64, linux-x86_64",
        "Linux, aarch64, linux-aarch64",
        "Mac OS X, x86_64, apple-x86_64",
        "Windows 11, amd64, windows-x86_64",
    })
    void librariesHaveThePlatformInJCudasWords(String system, String processor, String platform) {
        assertThat(LibUtils.platform(system, processor)).isEqualTo(platform);
    }

    @ParameterizedTest
    @ValueSource(strings = {"JCudaDriver-12.6.0-linux-aarch64", "JCudaDriver-12.6.0-windows-x86_64"})
    void aLibraryOfAnotherPlatformIsRefusedByName(String name) {
        assertThatThrownBy(() -> LibUtilsCuda.loadLibrary(name))
                .isInstanceOf(UnsatisfiedLinkError.class)
                .hasMessage("module jcuda has no lib" + name + ".so, only linux-x86_64");
    }

    @Test
    void aLibraryThatIsNotCarriedIsRefusedByName() {
        assertThatThrownBy(() -> LibUtilsCuda.loadLibrary("JCublas-12.6.0-linux-x86_64"))
                .isInstanceOf(UnsatisfiedLinkError.class)
                .hasMessageContaining("libJCublas-12.6.0-linux-x86_64.so");
    }

    /** JCuda's own loader takes whatever lies under this name, which any user of the machine can put there. */
    @Test
    void aPlantedLibraryIsNeitherLoadedNorTouched() throws Exception {
        final Path planted = temporary.resolve("libJCudaRuntime-12.6.0-linux-x86_64.so");
        Files.writeString(planted, "not a library");

        final String output = runtimeVersionInANewJvm();

        assertThat(output).isEqualTo("version 12000, result 0");
        assertThat(planted).hasContent("not a library");
    }

    @Test
    void loadingLeavesNoFile() throws Exception {
        runtimeVersionInANewJvm();
        try (Stream<Path> files = Files.list(temporary)) {
            assertThat(files).isEmpty();
        }
    }

    @Test
    void aDamagedLibraryIsRefusedByName(@TempDir Path patch) throws Exception {
        final String name = "libJCudaRuntime-12.6.0-linux-x86_64.so";
        final Path damaged = Files.createDirectory(patch.resolve("lib")).resolve(name);
        try (InputStream library = JCudaVersion.class.getResourceAsStream("/lib/" + name)) {
            assertThat(library).isNotNull();
            final byte[] content = library.readAllBytes();
            content[content.length / 2] ^= 1;
            Files.write(damaged, content);
        }

        assertThat(inANewJvm(1, patch + System.getProperty("path.separator")))
                .contains(name + " is not the library that module jcuda was built with")
                .doesNotContain("version 12000");
        try (Stream<Path> files = Files.list(temporary)) {
            assertThat(files).isEmpty();
        }
    }

    /** The first message is that of glibc. */
    @Test
    void whereTheTemporaryFolderIsMountedNoexecTheMessageSaysWhatToDo() {
        final String message = "/tmp/jcuda-1/a.so: failed to map segment from shared object";
        assertThat(LibUtilsCuda.explained(new UnsatisfiedLinkError(message)))
                .hasMessage(message + "; if java.io.tmpdir=" + System.getProperty("java.io.tmpdir")
                        + " is mounted noexec, set it to a folder that is not");
        final UnsatisfiedLinkError other = new UnsatisfiedLinkError("libcuda.so.1: cannot open shared object file");
        assertThat(LibUtilsCuda.explained(other)).isSameAs(other);
    }

    private String runtimeVersionInANewJvm() throws IOException, InterruptedException {
        return inANewJvm(0, "");
    }

    private String inANewJvm(int status, String patch) throws IOException, InterruptedException {
        final Process process = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-Djava.io.tmpdir=" + temporary,
                        "-XX:-UsePerfData",
                        "--module-path",
                        System.getProperty("jdk.module.path"),
                        "--patch-module",
                        "jcuda=" + patch + location(),
                        "--enable-native-access=jcuda",
                        "--illegal-native-access=deny",
                        "-m",
                        "jcuda/" + PrintRuntimeVersion.class.getName())
                .redirectErrorStream(true)
                .start();
        final String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
        assertThat(process.waitFor()).as(output).isEqualTo(status);
        return output;
    }

    /** The folder or jar that holds these tests; the module's own location says where the module is instead. */
    private static Path location() {
        final String resource = PrintRuntimeVersion.class
                .getResource("PrintRuntimeVersion.class")
                .toString();
        final String root = resource.substring(0, resource.indexOf("jcuda/PrintRuntimeVersion.class"));
        return Path.of(URI.create(root.startsWith("jar:") ? root.substring(4, root.indexOf("!/")) : root));
    }
}
