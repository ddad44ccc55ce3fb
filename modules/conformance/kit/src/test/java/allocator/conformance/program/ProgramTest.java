package allocator.conformance.program;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.conformance.program.ProgramGenerator.Capabilities;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Programs as text. */
class ProgramTest {
    @Test
    void aProgramReadsAsItIsWritten() {
        for (int seed = 0; seed < 50; seed++) {
            final Program program = ProgramGenerator.generate(
                    "Simple (gpu:0)", seed, 80, new Capabilities(true, true, true, true, 4096, Map.of()));
            assertThat(Program.parse(program.toString().lines().toList())).isEqualTo(program);
        }
    }

    @Test
    void aMalformedLineIsNamed() {
        assertThatThrownBy(() -> Program.parse(List.of("memory m", "alloc b1")))
                .hasMessageContaining("line 2")
                .hasMessageContaining("alloc b1");
        assertThatThrownBy(() -> Program.parse(List.of("alloc b1 5"))).hasMessageContaining("memory NAME");
    }
}
