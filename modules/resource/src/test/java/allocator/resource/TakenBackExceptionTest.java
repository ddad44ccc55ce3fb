package allocator.resource;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.spi.DeviceException;
import org.junit.jupiter.api.Test;

class TakenBackExceptionTest {
    @Test
    void aCauseWhoseMessageCannotBeReadIsKept() {
        final DeviceException cause = new DeviceException("cuMemFree", null) {
            private static final long serialVersionUID = 1L;

            @Override
            public String getMessage() {
                throw new IllegalStateException("planted");
            }
        };
        assertThat(new TakenBackException(cause)).hasCause(cause).hasMessageContaining("cannot be read");
    }
}
