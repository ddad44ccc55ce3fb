package allocator.arrow;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;

class ArrowExampleTest {
    @Test
    void thePageSaysWhatItPrints() {
        final PrintStream before = System.out;
        final ByteArrayOutputStream printed = new ByteArrayOutputStream();
        System.setOut(new PrintStream(printed, true, StandardCharsets.UTF_8));
        try {
            ArrowExample.run();
        } finally {
            System.setOut(before);
        }
        assertThat(printed.toString(StandardCharsets.UTF_8).lines())
                .containsExactly(
                        "0 bytes in use, 1048576 held",
                        "1.0 MiB (1,048,576 bytes) in 1 region returned, 0 bytes held",
                        "0 bytes in 0 blocks not deallocated");
    }
}
