package allocator.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ConformanceCommandTest {
    private static final String[] CPU = {"conformance", "--provider", "cpu-reference", "--quick"};

    @TempDir
    private Path folder;

    private static Outcome onCpu(String... more) {
        final String[] all = new String[CPU.length + more.length];
        System.arraycopy(CPU, 0, all, 0, CPU.length);
        System.arraycopy(more, 0, all, CPU.length, more.length);
        return Outcome.of(all);
    }

    @Test
    void provesRulesAndWritesAReport() {
        final Outcome outcome = onCpu("--rules", "M-*,A-04", "--report", folder.toString());
        assertThat(outcome.err()).isEmpty();
        assertThat(outcome.exitCode()).as(outcome.out()).isZero();
        assertThat(outcome.out()).contains("cpu-reference", "CONFORMS", "report.html");
        assertThat(folder.resolve("report.html")).content().contains("cpu-reference", "M-02");
        assertThat(folder.resolve("TEST-conformance.xml"))
                .content()
                .contains("<testsuite", "value=\"conforms\"", "required_M02");
    }

    @Test
    void replaysAProgram() throws IOException {
        final Path program = folder.resolve("program.txt");
        Files.writeString(program, "memory Cpu (cpu:0)\nalloc b1 1000\nfree b1\nshrink\n");
        final Outcome outcome = onCpu("--replay", program.toString());
        assertThat(outcome.exitCode()).as(outcome.err()).isZero();
        assertThat(outcome.out()).contains("alloc b1 1000 -> 0x", "breaks no rule");
    }

    @Test
    void rejectsWhatDoesNotExist() {
        assertThat(Outcome.of("conformance", "--provider", "nobody").exitCode()).isEqualTo(2);
        assertThat(onCpu("--rules", "Z-*").err()).contains("no rule matches 'Z-*'");
        assertThat(onCpu("--replay", folder.resolve("none").toString()).exitCode())
                .isEqualTo(2);
    }
}
