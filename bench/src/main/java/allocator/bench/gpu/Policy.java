package allocator.bench.gpu;

import allocator.spi.AllocatorOptions;

/**
 * A provider with a value of {@code arena.policy}.
 *
 * @param provider the provider's name
 * @param name the value; empty for the default, also of a provider without this key
 */
record Policy(String provider, String name) {
    /** Reads the arguments of a benchmark, of which the one at {@code index} is the policy; there may be none. */
    static Policy of(String provider, String[] args, int index) {
        return new Policy(provider, args.length > index ? args[index] : "");
    }

    /** Returns what the table calls it, such as {@code cuda-arena compact}. */
    String subject() {
        return name.isEmpty() ? provider : provider + " " + name;
    }

    /** Returns the options that select it. */
    AllocatorOptions options() {
        return name.isEmpty() ? AllocatorOptions.EMPTY : AllocatorOptions.EMPTY.with("arena.policy", name, "benchmark");
    }
}
