package allocator.provider.support;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.spi.DeviceException;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class FailedReturnTest {
    /** What the message of a foreign throwable may throw. */
    static List<Throwable> failures() {
        return List.of(
                new IllegalStateException("failed"),
                new StackOverflowError("failed"),
                new LinkageError("failed"),
                new Exception("failed"));
    }

    /** A throwable whose methods throw. */
    private static final class Hostile extends RuntimeException {
        private static final long serialVersionUID = 1;

        private final transient Throwable failure;

        Hostile(Throwable failure) {
            this.failure = failure;
        }

        @Override
        public String getMessage() {
            throwAny(failure);
            return "";
        }

        @Override
        public String toString() {
            throwAny(failure);
            return "";
        }
    }

    @SuppressWarnings("unchecked")
    private static <T extends Throwable> void throwAny(Throwable failure) throws T {
        throw (T) failure;
    }

    @Test
    void aDeviceExceptionStaysWhatItIs() {
        final DeviceException thrown = new DeviceException("failed", null);
        assertThat(FailedReturn.of(thrown)).isSameAs(thrown);
    }

    @Test
    void anythingElseIsTheCause() {
        final Throwable thrown = new IllegalStateException("failed");
        assertThat(FailedReturn.of(thrown)).hasMessage("failed").hasCause(thrown);
    }

    @ParameterizedTest
    @MethodSource("failures")
    void aMessageThatThrowsIsLeftOut(Throwable failure) {
        final Hostile thrown = new Hostile(failure);
        final DeviceException made = FailedReturn.of(thrown);
        assertThat(made.getCause() == thrown).isTrue();
        assertThat(made.getMessage()).contains("cannot be read");
    }
}
