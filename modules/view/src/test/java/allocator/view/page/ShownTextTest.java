package allocator.view.page;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class ShownTextTest {
    @ParameterizedTest
    @ValueSource(strings = {"", "bert", "a <b> & \"c\" \\u202e", "größe", "模型", "😀", "e\u0301"})
    void textThatHasAPictureIsShownAsItIs(String text) {
        assertThat(ShownText.of(text)).isEqualTo(text);
    }

    @ParameterizedTest
    @CsvSource({
        "0000", "0009", "000a", "001b", "007f", "0085", "00ad", "061c", "200b", "200d", "200e", "2028", "2029", "202a",
        "202e", "2060", "2066", "2068", "2069", "feff", "d800", "dfff"
    })
    void whatHasNoPictureOrTurnsTextIsEscaped(String hex) {
        final char c = (char) Integer.parseInt(hex, 16);
        assertThat(ShownText.of("a" + c + "b")).isEqualTo("a\\u" + hex + "b");
    }

    @Test
    void aFormatCharacterBeyondTheFirstPlaneIsEscaped() {
        assertThat(ShownText.of("a\udb40\udc41")).isEqualTo("a\\udb40\\udc41");
    }

    @Test
    void everyTextCanBeEncoded() {
        for (int c = 0; c <= Character.MAX_VALUE; c++) {
            assertThat(StandardCharsets.UTF_8.newEncoder().canEncode(ShownText.of("a" + (char) c + "b")))
                    .as("%04x", c)
                    .isTrue();
        }
    }

    @ParameterizedTest
    @CsvSource({
        "אב 16 MiB, \u2068אב\u2069 16 MiB",
        "of אב גד in 2, of \u2068אב גד\u2069 in 2",
        "'אב, גד', '\u2068אב\u2069, \u2068גד\u2069'",
        "قَا: 1, \u2068قَا\u2069: 1"
    })
    void wordsFromRightToLeftAreIsolated(String text, String shown) {
        assertThat(ShownText.of(text)).isEqualTo(shown);
    }
}
