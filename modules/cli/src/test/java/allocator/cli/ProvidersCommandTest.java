package allocator.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ProvidersCommandTest {
    @TempDir
    private Path folder;

    @Test
    void listsDevicesMemoriesAndOptions() {
        final Outcome outcome = Outcome.of("providers", "--provider", "cpu-reference");
        assertThat(outcome.err()).isEmpty();
        assertThat(outcome.exitCode()).isZero();
        assertThat(outcome.out())
                .startsWith("cpu-reference ")
                .contains("  module java.allocator.cpu.reference\n")
                .containsPattern("\n  cpu:0  .* processor")
                .containsPattern("Cpu +default +aligned to 256 B\n")
                .containsPattern("CpuReadOnly +read-only +aligned to 256 B\n")
                .containsPattern("arena.initial_chunk_size_bytes +1048576 +default\n");
    }

    @Test
    void listsWhoCanBeUsedBeforeWhoCannot() {
        final Outcome outcome = Outcome.of("providers");
        assertThat(outcome.exitCode()).isZero();
        assertThat(outcome.out()).contains("cuda-arena", "cuda-mempool");
        final int firstWithout = outcome.out().indexOf("\n  no device\n");
        assertThat(firstWithout == -1 || outcome.out().lastIndexOf("aligned to") < firstWithout)
                .isTrue();
    }

    @Test
    void showsGivenOptionsAsTheyWouldBeEffective() {
        assertThat(Outcome.of("providers", "--provider", "cpu-reference", "--option", "arena.max_mem=5000")
                        .out())
                .containsPattern("arena.max_mem +5\\d+ +--option\n");
    }

    @Test
    void explainsOptionsOnDemand() {
        assertThat(Outcome.of("providers", "--verbose").out()).containsPattern("accepts\\s+0 \\(off\\) or 1 \\(on\\)");
    }

    @Test
    void saysWhoIsNotUsedAndWhy() throws IOException {
        Files.writeString(folder.resolve("broken.jar"), "this is no jar");
        final Outcome outcome = Outcome.of("providers", "--providers-dir", folder.toString());
        assertThat(outcome.exitCode()).isZero();
        assertThat(outcome.out()).contains("cpu-reference").containsPattern("broken.jar\n(.*\n)?  not used: ");
    }

    @Test
    void writesJson() {
        final Outcome outcome = Outcome.of("providers", "--json", "-");
        assertThat(outcome.exitCode()).isZero();
        assertThat(outcome.out())
                .contains(
                        "\"provider\" : \"cpu-reference\"",
                        "\"device\" : \"cpu:0\"",
                        "\"key\" : \"arena.max_mem\"",
                        "\"byte_alignment\" : 256");
    }
}
