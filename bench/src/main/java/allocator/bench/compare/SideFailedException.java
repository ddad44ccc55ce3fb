package allocator.bench.compare;

/** A side that cannot be measured, and why. */
final class SideFailedException extends Exception {
    private static final long serialVersionUID = 1;

    SideFailedException(String message) {
        super(message);
    }
}
