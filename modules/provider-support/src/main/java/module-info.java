import org.jspecify.annotations.NullMarked;

/**
 * What every provider needs and the contract does not give: a ledger of live blocks with statistics and diagnosis of
 * invalid frees, references to shared allocators, the owner of a stream, the limit of {@code arena.max_mem}, checks of
 * sizes and copies, events of the flight recorder where the runtime image has {@code jdk.jfr}.
 *
 * <p>Use of this module is optional: the contract is {@code java.allocator.spi} alone.
 */
@NullMarked
module java.allocator.provider.support {
    requires transitive java.allocator.spi;
    requires static jdk.jfr;
    requires static org.jspecify;

    exports allocator.provider.support;
    exports allocator.provider.support.budget;
    exports allocator.provider.support.event;
    // Internal, no API. Qualified exports do not reach modules that a directory of providers adds.
    exports allocator.provider.support.internal;
    exports allocator.provider.support.platform;
}
