import org.jspecify.annotations.NullMarked;

/**
 * The conformance kit: proves that a provider keeps the rules of {@code docs/contract.md}, or shows the shortest
 * program that breaks one.
 *
 * <p>A provider's own test extends {@link allocator.conformance.AllocatorConformance}. Without writing a test,
 * {@link allocator.conformance.Main} runs the same suites on any provider of the module path.
 *
 * @uses allocator.spi.EpFactory the providers that the runner can prove
 */
@NullMarked
module java.allocator.conformance {
    requires java.management;
    requires transitive java.allocator.spi;
    requires static transitive org.jspecify;
    requires transitive org.junit.jupiter.api;
    requires org.junit.platform.launcher;

    exports allocator.conformance;

    opens allocator.conformance to
            org.junit.platform.commons;

    uses allocator.spi.EpFactory;
}
