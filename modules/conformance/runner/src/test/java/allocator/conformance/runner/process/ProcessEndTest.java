package allocator.conformance.runner.process;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import org.junit.jupiter.api.Test;

class ProcessEndTest {
    private static final String OF_THE_JVM = """
            NOTE: Picked up JDK_JAVA_OPTIONS: -Da=b
            Picked up JAVA_TOOL_OPTIONS: -Dc=d
            WARNING: Unknown module: not.there specified to --enable-native-access
            """;

    private static String end(String printed) {
        return new ProcessEnd(7, Path.of("no crash file"), printed).toString();
    }

    @Test
    void whatTheJvmPrintsOfItsOptionsIsNotThoughtToBeOfTheProvider() {
        assertThat(end(OF_THE_JVM)).endsWith("or by a signal");
        assertThat(end(OF_THE_JVM + "WARNING: low on blocks\n"))
                .endsWith("; it printed last\n    WARNING: low on blocks");
    }
}
