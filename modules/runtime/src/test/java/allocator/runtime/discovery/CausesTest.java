package allocator.runtime.discovery;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class CausesTest {
    @ParameterizedTest
    @CsvSource({
        "Illegal native access from an unnamed module (file:/x.jar), ALL-UNNAMED",
        "Illegal native access from module java.base (file:/x.jar), java.base",
        "Illegal native access from module com.example.dropped (file:/x.jar), java.allocator.runtime"
    })
    void deniedNativeAccessNamesTheFlagThatGrantsIt(String message, String module) {
        assertThat(Causes.describe(new ExceptionInInitializerError(new IllegalCallerException(message))))
                .endsWith(message + "; start java with --enable-native-access=" + module);
    }
}
