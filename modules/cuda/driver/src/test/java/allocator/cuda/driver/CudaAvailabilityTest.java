package allocator.cuda.driver;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import java.lang.reflect.Proxy;
import org.junit.jupiter.api.Test;

class CudaAvailabilityTest {
    private static final CudaDriver DRIVER = driver();
    private static final CudaDriver SUBSTITUTE = driver();

    @Test
    void whereThereIsADriverItIsReturned() {
        assertThat(new CudaAvailability.Available(DRIVER).orElse(reason -> SUBSTITUTE))
                .isSameAs(DRIVER);
    }

    @Test
    void withoutADriverTheFallbackGetsTheReason() {
        final CudaAvailability unavailable = new CudaAvailability.Unavailable("no CUDA driver");
        assertThat(unavailable.orElse(reason -> {
                    assertThat(reason).isEqualTo("no CUDA driver");
                    return SUBSTITUTE;
                }))
                .isSameAs(SUBSTITUTE);
    }

    @Test
    void withoutADriverTheExceptionHasTheReason() {
        final CudaAvailability unavailable = new CudaAvailability.Unavailable("no CUDA driver");
        assertThatIllegalStateException()
                .isThrownBy(() -> unavailable.orElseThrow(IllegalStateException::new))
                .withMessage("no CUDA driver");
        assertThat(new CudaAvailability.Available(DRIVER).orElseThrow(IllegalStateException::new))
                .isSameAs(DRIVER);
    }

    /** A driver of which only the identity matters. */
    private static CudaDriver driver() {
        return (CudaDriver) Proxy.newProxyInstance(
                CudaDriver.class.getClassLoader(),
                new Class<?>[] {CudaDriver.class},
                (proxy, method, arguments) -> method.getName().equals("toString") ? "driver" : null);
    }
}
