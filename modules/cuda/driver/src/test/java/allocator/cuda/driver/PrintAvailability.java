package allocator.cuda.driver;

/** Probes twice, as a program may that was told why it has no CUDA. */
final class PrintAvailability {
    private PrintAvailability() {}

    public static void main(String[] arguments) {
        final CudaAvailability first = CudaDrivers.probe();
        if (!first.equals(CudaDrivers.probe())) {
            throw new IllegalStateException("the answers differ");
        }
        System.out.println(
                switch (first) {
                    case CudaAvailability.Available available ->
                        available.driver().devices().count() + " devices";
                    case CudaAvailability.Unavailable unavailable -> unavailable.reason();
                });
    }
}
