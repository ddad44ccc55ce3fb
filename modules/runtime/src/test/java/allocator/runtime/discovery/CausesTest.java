package allocator.runtime.discovery;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class CausesTest {
    @ParameterizedTest
    @CsvSource({
        "Illegal native access from an unnamed module (file:/x.jar), ALL-UNNAMED",
        "Illegal native access from module com.example.gpu (file:/x.jar), com.example.gpu"
    })
    void deniedNativeAccessNamesTheFlagThatGrantsIt(String message, String module) {
        assertThat(Causes.describe(new ExceptionInInitializerError(new IllegalCallerException(message))))
                .endsWith(message + "; start java with --enable-native-access=" + module);
    }
}
