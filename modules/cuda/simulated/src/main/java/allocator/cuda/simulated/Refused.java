package allocator.cuda.simulated;

/** Ends a call with a result code; the call that is being made turns it into its own exception. */
final class Refused extends RuntimeException {
    private static final long serialVersionUID = 1L;

    final int result;

    Refused(int result) {
        super(null, null, false, false);
        this.result = result;
    }
}
