package allocator.conformance.runner.output;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.PrintWriter;
import java.io.StringWriter;
import org.junit.jupiter.api.Test;

class PlainWriterTest {
    private final StringWriter written = new StringWriter();
    private final PrintWriter out = PlainWriter.over(new PrintWriter(written), false);

    @Test
    void lineBreaksAndTabsStay() {
        out.print("a\tb\nc\r");
        out.print("\nd");
        out.flush();
        assertThat(written).hasToString("a\tb\nc\r\nd");
    }

    @Test
    void aReturnAloneIsEscaped() {
        out.print("a\rb\r");
        out.flush();
        assertThat(written).hasToString("a\\u000db\\u000d");
    }

    @Test
    void charactersThatControlATerminalAreEscaped() {
        out.print("\u001b[2J \u009b2J \u0007 \b \u007f \u202e \u2066 \u2028");
        out.flush();
        assertThat(written).hasToString("\\u001b[2J \\u009b2J \\u0007 \\u0008 \\u007f \\u202e \\u2066 \\u2028");
    }

    @Test
    void otherTextStays() {
        out.print("grün █ µs \ud83d\ude00");
        out.flush();
        assertThat(written).hasToString("grün █ µs \ud83d\ude00");
    }

    @Test
    void onOneLineBreaksAreEscapedAsWell() {
        assertThat(PlainWriter.oneLine("a\nb\tc")).isEqualTo("a\\u000ab\\u0009c");
    }
}
