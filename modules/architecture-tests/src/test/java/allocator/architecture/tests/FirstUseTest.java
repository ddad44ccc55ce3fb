package allocator.architecture.tests;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import org.junit.jupiter.api.Test;

/** The program of {@code docs/first-use.md} prints what the page shows. */
class FirstUseTest {
    @Test
    void theProgramPrintsWhatThePageShows() throws IOException {
        final ByteArrayOutputStream printed = new ByteArrayOutputStream();
        final PrintStream before = System.out;
        System.setOut(new PrintStream(printed, true, StandardCharsets.UTF_8));
        try {
            FirstUse.main(new String[0]);
        } finally {
            System.setOut(before);
        }
        final String output = printed.toString(StandardCharsets.UTF_8);
        assertThat(output).isNotBlank();
        assertThat(Files.readString(ReactorModule.ROOT.resolve("docs/first-use.md")))
                .contains("```\n" + output.replace(System.lineSeparator(), "\n") + "```");
    }
}
