import org.jspecify.annotations.NullMarked;

/**
 * The contract between allocator providers and everything that uses them: factories, devices, allocators, streams,
 * options, statistics and exceptions. No policy lives here.
 *
 * <p>A provider implements {@link allocator.spi.EpFactory} and declares it with {@code provides} in its own module
 * descriptor. The rules that both sides keep are numbered in {@code docs/contract.md}; the Javadoc here names them by
 * number, and the conformance kit names its tests by the same number.
 */
@NullMarked
module java.allocator.spi {
    requires static transitive org.jspecify;

    exports allocator.spi;
}
