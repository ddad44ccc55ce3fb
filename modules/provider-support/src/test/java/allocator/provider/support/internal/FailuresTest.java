package allocator.provider.support.internal;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class FailuresTest {
    private static final class Unreadable extends RuntimeException {
        private static final long serialVersionUID = 1L;

        @Override
        public String getMessage() {
            throw new IllegalStateException("planted");
        }
    }

    @Test
    void aMessageThatCannotBeReadIsReplaced() {
        assertThat(Failures.messageOf(new Unreadable())).contains("cannot be read");
        assertThat(Failures.messageOf(new RuntimeException("text"))).isEqualTo("text");
        assertThat(Failures.messageOf(new RuntimeException())).isEqualTo("null");
    }

    @Test
    void aThrowableThatCannotDescribeItselfIsItsClass() {
        assertThat(Failures.describe(new Unreadable())).isEqualTo(Unreadable.class.getName());
        assertThat(Failures.describe(new RuntimeException("text"))).isEqualTo("java.lang.RuntimeException: text");
    }
}
