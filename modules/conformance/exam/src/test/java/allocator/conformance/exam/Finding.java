package allocator.conformance.exam;

/**
 * A test of the kit that failed on a provider.
 *
 * @param rule the rule that it proves, such as {@code A-03}
 * @param test its name
 * @param message the first line of its message
 */
record Finding(String rule, String test, String message) {
    /** Returns whether the provider's process ended in the test, instead of failing it. */
    boolean isEndOfProcess() {
        return message.contains("did not survive");
    }
}
