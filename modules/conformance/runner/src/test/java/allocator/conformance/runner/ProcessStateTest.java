package allocator.conformance.runner;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.TimeZone;
import org.junit.jupiter.api.Test;

class ProcessStateTest {
    @Test
    void aStreamThatWasClosedIsAChange() {
        final PrintStream out = System.out;
        System.setOut(new PrintStream(OutputStream.nullOutputStream(), false, StandardCharsets.UTF_8));
        try {
            final ProcessState before = ProcessState.now();
            System.out.close();
            assertThat(before.changes()).containsExactly("standard output was closed, or has failed");
        } finally {
            System.setOut(out);
        }
    }

    @Test
    void changesAreNamedAndTakenBack() {
        final ProcessState before = ProcessState.now();
        try {
            Locale.setDefault(Locale.Category.FORMAT, Locale.of("tlh"));
            TimeZone.setDefault(TimeZone.getTimeZone("Pacific/Chatham"));
            Thread.setDefaultUncaughtExceptionHandler((_, _) -> {});
            System.setProperty("java.security.manager.of.a.test", "x");
            System.setProperty("com.example.own", "a provider's own property is no change");
            assertThat(before.changes())
                    .anySatisfy(change -> assertThat(change).startsWith("the default locale of formats was changed"))
                    .anySatisfy(change -> assertThat(change).endsWith(" to Pacific/Chatham"))
                    .anySatisfy(change -> assertThat(change).startsWith("the default handler of uncaught exceptions"))
                    .contains("the property java.security.manager.of.a.test was changed from null to x")
                    .noneMatch(change -> change.contains("com.example.own"));
        } finally {
            before.restore();
            System.clearProperty("com.example.own");
        }
        assertThat(before.changes()).isEmpty();
    }
}
