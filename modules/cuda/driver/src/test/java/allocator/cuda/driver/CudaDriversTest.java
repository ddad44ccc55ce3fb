package allocator.cuda.driver;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class CudaDriversTest {
    private static final String NATIVE_ACCESS = "--enable-native-access=jcuda,java.allocator.cuda.driver";

    @TempDir
    Path folder;

    @Test
    void theClassesAreInTheirModule() {
        assertThat(CudaDrivers.class.getModule().getName()).isEqualTo("java.allocator.cuda.driver");
    }

    @Test
    void probingAgainReturnsTheSame() {
        assertThat(CudaDrivers.probe()).isEqualTo(CudaDrivers.probe());
    }

    @Test
    void withoutNativeAccessTheReasonNamesTheFlag() throws Exception {
        assertThat(probeInANewJvm()).isEqualTo("native access is not enabled: start java with " + NATIVE_ACCESS);
        assertThat(probeInANewJvm("--enable-native-access=jcuda"))
                .isEqualTo("native access is not enabled: start java with "
                        + "--enable-native-access=java.allocator.cuda.driver");
    }

    /** The dynamic linker searches the folder first; its file has the name of the library and is none. */
    @Test
    void aFileThatIsNoLibraryIsAReason() throws Exception {
        Files.writeString(folder.resolve("libcuda.so.1"), "not a library");
        assertThat(probeInANewJvm(NATIVE_ACCESS)).isEqualTo("no CUDA driver: libcuda.so.1 not found");
    }

    private String probeInANewJvm(String... options) throws IOException, InterruptedException {
        final List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--module-path",
                System.getProperty("jdk.module.path"),
                "--patch-module",
                "java.allocator.cuda.driver=" + location(),
                "--illegal-native-access=deny"));
        command.addAll(List.of(options));
        command.addAll(List.of("-m", "java.allocator.cuda.driver/" + PrintAvailability.class.getName()));
        final ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
        builder.environment().put("LD_LIBRARY_PATH", folder.toString());
        final Process process = builder.start();
        final String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
        assertThat(process.waitFor()).as(output).isZero();
        return output;
    }

    /** The folder or jar that holds these tests; the module's own location says where the module is instead. */
    private static Path location() {
        final String resource =
                PrintAvailability.class.getResource("PrintAvailability.class").toString();
        final String root = resource.substring(0, resource.indexOf("allocator/cuda/driver/PrintAvailability.class"));
        return Path.of(URI.create(root.startsWith("jar:") ? root.substring(4, root.indexOf("!/")) : root));
    }
}
