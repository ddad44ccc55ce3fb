package allocator.testkit;

import org.junit.jupiter.api.Assertions;
import org.junit.jupiter.api.Assumptions;

/**
 * The GPU of this machine. A test that needs one is skipped where there is none, and fails instead where the system
 * property {@code allocator.gpu.required} is {@code true}.
 */
public final class Gpu {
    private static final String REQUIRED = "allocator.gpu.required";

    private Gpu() {}

    /**
     * Ends a test for want of a device; for a {@code switch} over what a probe returns:
     *
     * <pre>{@code
     * case Available(CudaDriver driver) -> driver;
     * case Unavailable(String reason) -> throw Gpu.absent(reason);
     * }</pre>
     *
     * @param whyNot why there is no device
     * @return never
     * @throws org.opentest4j.TestAbortedException if no device is required
     * @throws AssertionError if one is required
     */
    public static RuntimeException absent(String whyNot) {
        return Boolean.getBoolean(REQUIRED)
                ? Assertions.fail(REQUIRED + " is set, but " + whyNot)
                : Assumptions.abort(whyNot);
    }
}
