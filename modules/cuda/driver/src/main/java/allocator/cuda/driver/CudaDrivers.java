package allocator.cuda.driver;

import allocator.cuda.driver.libcuda.NativeCudaDriver;
import allocator.cuda.driver.libcuda.Prerequisites;
import java.util.Objects;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Finds this machine's CUDA driver, or one that a test has put in its place.
 *
 * <p>Nothing on a path is ever used in place of the driver by itself: only {@link #substitute} and {@link #callWith} do
 * that.
 */
public final class CudaDrivers {
    private static final ScopedValue<CudaDriver> OF_THIS_THREAD = ScopedValue.newInstance();

    private static @Nullable CudaDriver driver;

    /** In place of the driver, until it is closed. */
    private static @Nullable Substitution substitution;

    private CudaDrivers() {}

    /**
     * {@return the CUDA driver of this machine, or the reason why this process cannot use one}
     *
     * <p>A driver of {@link #callWith} goes before one of {@link #substitute}, and that one before the machine's.
     *
     * <p>May be called at any time and any number of times: a failed attempt has no lasting effect, and a later one can
     * succeed. Retains no context. The first success initializes the driver.
     */
    public static CudaAvailability probe() {
        return OF_THIS_THREAD.isBound() ? new CudaAvailability.Available(OF_THIS_THREAD.get()) : probeProcess();
    }

    private static synchronized CudaAvailability probeProcess() {
        if (substitution != null) {
            return new CudaAvailability.Available(substitution.driver);
        }
        if (driver == null) {
            final @Nullable String unmet = Prerequisites.firstUnmet();
            if (unmet != null) {
                return new CudaAvailability.Unavailable(unmet);
            }
            try {
                driver = NativeCudaDriver.initialize(Prerequisites.driverVersion());
            } catch (CudaException e) {
                return new CudaAvailability.Unavailable(e.function().functionName() + " failed with " + e.resultName());
            }
        }
        return new CudaAvailability.Available(driver);
    }

    /**
     * Puts a driver in the place of this machine's, for a test: {@link #probe} returns it in the whole process until
     * the result is closed. What has found a driver before keeps it.
     *
     * @param driver the driver, such as a simulated one
     * @return ends the substitution when it is closed
     * @throws IllegalStateException if another driver is in its place already
     */
    public static synchronized Substitution substitute(CudaDriver driver) {
        if (substitution != null) {
            throw new IllegalStateException(substitution.driver + " is in the place of the CUDA driver already; close"
                    + " that substitution first, or do not run such tests at once");
        }
        substitution = new Substitution(driver);
        return substitution;
    }

    /**
     * Calls with a driver in the place of this machine's: {@link #probe} returns it to the calling thread, and to no
     * other.
     *
     * @param driver the driver, such as a simulated one
     * @param call what to call
     * @param <R> type of the result
     * @return its result
     */
    public static <R> R callWith(CudaDriver driver, Supplier<R> call) {
        return ScopedValue.where(OF_THIS_THREAD, driver).call(call::get);
    }

    private static synchronized void end(Substitution ended) {
        if (ended.equals(substitution)) {
            substitution = null;
        }
    }

    /** A driver in the place of this machine's. */
    public static final class Substitution implements AutoCloseable {
        private final CudaDriver driver;

        private Substitution(CudaDriver driver) {
            this.driver = Objects.requireNonNull(driver, "driver");
        }

        /** Ends the substitution. A second call does nothing. */
        @Override
        public void close() {
            end(this);
        }
    }
}
