package allocator.conformance.program;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.conformance.program.ProgramGenerator.Capabilities;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Random programs can be repeated. */
class ProgramGeneratorTest {
    @Test
    void theSameSeedGeneratesTheSameProgram() {
        final Capabilities all = new Capabilities(true, true, true, true, 4096, Map.of());
        assertThat(ProgramGenerator.generate("m", 7, 80, all)).isEqualTo(ProgramGenerator.generate("m", 7, 80, all));
        assertThat(ProgramGenerator.generate("m", 7, 80, all)).isNotEqualTo(ProgramGenerator.generate("m", 8, 80, all));
    }
}
