import org.jspecify.annotations.NullMarked;

/**
 * The conformance kit: proves that a provider keeps the rules of {@code docs/contract.md}, or shows the shortest
 * program that breaks one.
 *
 * <p>A provider's own test extends {@link allocator.conformance.AllocatorConformance}. To prove a provider without
 * writing a test, use the command of module {@code java.allocator.conformance.runner}.
 */
@SuppressWarnings("module") // the runner requires this module, so it is compiled later
@NullMarked
module java.allocator.conformance {
    requires java.management;
    requires transitive java.allocator.spi;
    requires static org.jspecify;
    requires transitive org.junit.jupiter.api;

    exports allocator.conformance;
    exports allocator.conformance.contract to
            java.allocator.conformance.runner;
    exports allocator.conformance.program to
            java.allocator.conformance.runner;
    exports allocator.conformance.subject to
            java.allocator.conformance.runner;

    opens allocator.conformance to
            org.junit.platform.commons;
    opens allocator.conformance.rules to
            org.junit.platform.commons;
    opens allocator.conformance.rules.blocks to
            org.junit.platform.commons;
    opens allocator.conformance.rules.factories to
            org.junit.platform.commons;
    opens allocator.conformance.rules.failures to
            org.junit.platform.commons;
    opens allocator.conformance.rules.regions to
            org.junit.platform.commons;
    opens allocator.conformance.rules.streams to
            org.junit.platform.commons;
    opens allocator.conformance.rules.threads to
            org.junit.platform.commons;
}
