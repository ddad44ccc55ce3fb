package allocator.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ErrorLineTest {
    private static final String ADVICE = "(JDK_JAVA_OPTIONS=-Xmx8g makes it 8 GiB)";

    @ParameterizedTest
    @ValueSource(strings = {"Java heap space", "GC overhead limit exceeded", "Requested array size exceeds VM limit"})
    void aHeapThatIsTooSmallIsSaidHowToEnlarge(String message) {
        final OutOfMemoryError error = new OutOfMemoryError(message);
        assertThat(ErrorLine.of(error)).isEqualTo("the Java heap is too small " + ADVICE);
        assertThat(ErrorLine.of(new CommandException("f: is too large for the Java heap", new IOException("f", error))))
                .isEqualTo("f: is too large for the Java heap " + ADVICE);
    }

    @Test
    void otherFailuresAreNotHelpedByIt() {
        assertThat(ErrorLine.of(new OutOfMemoryError("unable to create native thread")))
                .doesNotContain(ADVICE);
        assertThat(ErrorLine.of(new CommandException("f: no such file", new IOException("f"))))
                .isEqualTo("f: no such file");
    }
}
