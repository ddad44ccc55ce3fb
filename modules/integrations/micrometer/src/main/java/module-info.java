import org.jspecify.annotations.NullMarked;

/** Meters of allocators, named as by OpenTelemetry, for Micrometer: {@link allocator.micrometer.AllocatorMetrics}. */
// Micrometer's jar has no module descriptor, only a name in its manifest.
@SuppressWarnings({"requires-automatic", "requires-transitive-automatic"})
@NullMarked
module java.allocator.micrometer {
    requires transitive java.allocator.runtime;
    requires transitive micrometer.core;
    requires java.allocator.spi;
    requires static org.jspecify;

    exports allocator.micrometer;
}
