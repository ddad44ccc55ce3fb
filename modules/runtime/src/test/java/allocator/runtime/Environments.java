package allocator.runtime;

/** Environments for tests. */
final class Environments {
    private Environments() {}

    /** An environment without providers. */
    static Environment empty() {
        return Environment.builder().modulePathProviders(false).build();
    }
}
