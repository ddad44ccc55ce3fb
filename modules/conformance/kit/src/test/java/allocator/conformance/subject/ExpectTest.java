package allocator.conformance.subject;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

/** What a provider throws may be of any kind, and is described all the same. */
class ExpectTest {
    private static RuntimeException silent() {
        return new RuntimeException() {
            private static final long serialVersionUID = 1L;

            @Override
            public String getMessage() {
                throw new IllegalStateException("no message");
            }
        };
    }

    private static RuntimeException circle() {
        final RuntimeException first = new RuntimeException("first");
        first.initCause(new RuntimeException("second", first));
        return first;
    }

    @Test
    void aMessageMayThrowOrBeOfAnyLength() {
        assertThat(Expect.describe(silent()))
                .endsWith("ExpectTest$1 (its message cannot be read: IllegalStateException)");
        assertThat(Expect.describe(new Error("x".repeat(1 << 20))))
                .startsWith("Error (xxx")
                .hasSizeLessThan(1 << 15);
        assertThat(Expect.describe(new Error())).isEqualTo("Error");
    }

    @Test
    void causesMayGoInACircle() {
        assertThat(Expect.causes(circle())).hasSizeBetween(2, 100);
        assertThat(Expect.causes(new Error("a", new Error("b")))).hasSize(2);
    }

    @Test
    void whatOthersPrintCanBePrinted() {
        final Error plain = new Error("a", new Error("b"));
        assertThat(Expect.sound(plain)).isSameAs(plain);
        assertThat(Expect.sound(circle()))
                .hasMessage("RuntimeException (first)")
                .hasNoCause();
        assertThat(Expect.sound(silent())).hasMessageContaining("its message cannot be read");
        assertThat(Expect.origin(silent())).contains("its message cannot be read");
    }
}
