package allocator.acceptance;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The command, with providers of vendors in a directory, and where the locale is not UTF-8. */
class CommandTest {
    private static final Path COMMAND = Shipped.ROOT.resolve("modules/cli/target/distribution");
    private static final Path TRACE = Shipped.ROOT.resolve("traces/resnet.csv.gz");

    private static Shipped shipped;
    private static Path dropped;

    @BeforeAll
    static void drop() throws Exception {
        shipped = Shipped.get();
        final List<Path> jars = new ArrayList<>(shipped.device());
        jars.addAll(List.of(shipped.buddy, shipped.vendorGpu));
        dropped = shipped.folder("of-vendors", jars);
    }

    private static String allocator(String... arguments) throws Exception {
        final List<String> options = new ArrayList<>(List.of("@" + COMMAND.resolve("java.args"), "--module-path"));
        options.addAll(List.of(Download.jars().toString(), "--module", "java.allocator.cli/allocator.cli.Main"));
        options.addAll(List.of(arguments));
        options.addAll(List.of("--providers-dir", dropped.toString()));
        final Started started = Started.java(options);
        assertThat(started.code()).as(started.output()).isZero();
        return started.output();
    }

    @Test
    void providersOfADirectoryAreListedWithTheirDevices() throws Exception {
        assertThat(allocator("providers"))
                .contains("module com.example.gpu", "module com.example.buddy", "gpu:0")
                .contains("cuda-arena ", "cuda-mempool ", "no CUDA driver: libcuda.so.1 not found")
                .doesNotContain("IllegalAccessError", "INFO");
    }

    @Test
    void aTraceIsReplayedOnEachProviderOfADirectory() throws Exception {
        for (final String provider : List.of("buddy", "vendor-gpu")) {
            assertThat(allocator("replay", "--once", "--provider", provider, TRACE.toString()))
                    .contains("through " + provider, "1,982 frees");
        }
    }

    /** A container's default: no LANG, and folders with names that are not ASCII. */
    @Tag("thorough")
    @Test
    void namesThatAreNotAsciiWorkWithoutALocale() throws Exception {
        final Path folder = Path.of(shipped.folder + "/donn\u00e9es");
        final String script = """
                set -e
                mkdir -p "%1$s/jars" && cp "%2$s" "%1$s/resnet.csv.gz" && cp "%3$s" "%1$s/jars"
                "$@" trace info "%1$s/resnet.csv.gz"
                "$@" replay --once --provider cpu-reference --json "%1$s/out.json" "%1$s/resnet.csv.gz"
                "$@" providers --providers-dir "%1$s/jars"
                test -s "%1$s/out.json" && echo written
                """.formatted(folder, TRACE, shipped.buddy);
        final Path file = Files.writeString(shipped.folder.resolve("no-locale.sh"), script);
        final List<String> command = new ArrayList<>(List.of("env", "-i", "PATH=" + System.getenv("PATH"), "sh"));
        command.add(file.toString());
        command.addAll(Download.of(shipped).command());
        final Started started = Started.run(command);
        assertThat(started.output())
                .contains("donn\u00e9es")
                .contains("written")
                .doesNotContain("cannot be read");
        assertThat(started.code()).as(started.output()).isZero();
    }
}
