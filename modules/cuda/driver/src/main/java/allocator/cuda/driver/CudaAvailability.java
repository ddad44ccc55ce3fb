package allocator.cuda.driver;

/** Whether this process can use CUDA. */
public sealed interface CudaAvailability {
    /**
     * It can.
     *
     * @param driver the driver, the same one each time; sees at least one device
     */
    record Available(CudaDriver driver) implements CudaAvailability {}

    /**
     * It cannot.
     *
     * @param reason one line that says why, and what would help if anything would
     */
    record Unavailable(String reason) implements CudaAvailability {}
}
