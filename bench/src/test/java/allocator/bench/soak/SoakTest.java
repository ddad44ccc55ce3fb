package allocator.bench.soak;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;

class SoakTest {
    private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    private final PrintStream out = new PrintStream(bytes, true, StandardCharsets.UTF_8);

    @Test
    void worksAndReportsBothMemories() {
        final int status = Soak.execute(out, "--minutes=0.02", "--subjects=arena,arena-quick,arena-streams");
        assertThat(status).isIn(0, 1); // in a second nothing is flat for certain
        assertThat(bytes.toString(StandardCharsets.UTF_8)).contains("resident: ", "Java heap: ");
    }

    @Test
    void wrongOptionsAreErrors() {
        assertThat(Soak.execute(out, "--minutes=0")).isEqualTo(2);
        assertThat(Soak.execute(out, "--minutes=1", "--subjects=nosuch")).isEqualTo(2);
    }
}
