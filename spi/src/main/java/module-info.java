import org.jspecify.annotations.NullMarked;

/**
 * The contract between allocator providers and everything that uses them: factories, devices, allocators, streams,
 * options, statistics and exceptions. No policy lives here.
 *
 * <p>A provider implements {@link allocator.spi.EpFactory} and declares it with {@code provides} in its own module
 * descriptor. The rules for both sides are numbered in {@code docs/contract.md}; the Javadoc and the tests of the
 * conformance kit refer to them by number.
 */
@NullMarked
module java.allocator.spi {
    requires static org.jspecify;

    exports allocator.spi;
}
