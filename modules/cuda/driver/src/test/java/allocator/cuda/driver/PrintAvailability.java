package allocator.cuda.driver;

/** Probes twice, as a program may after a failure, and prints the result. */
final class PrintAvailability {
    private PrintAvailability() {}

    public static void main(String[] arguments) {
        final CudaAvailability first = CudaDrivers.probe();
        if (!first.equals(CudaDrivers.probe())) {
            throw new IllegalStateException("the results differ");
        }
        System.out.println(
                switch (first) {
                    case CudaAvailability.Available available ->
                        available.driver().devices().count() + " devices";
                    case CudaAvailability.Unavailable unavailable -> unavailable.reason();
                });
    }
}
