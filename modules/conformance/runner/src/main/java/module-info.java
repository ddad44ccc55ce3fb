import org.jspecify.annotations.NullMarked;

/**
 * The runner of the conformance kit: runs the suites on any provider of the module path or of a directory of jars, and
 * writes reports.
 *
 * <p>{@link allocator.conformance.runner.Main} is the command, and
 * {@link allocator.conformance.runner.ConformanceRunner} the same from code.
 *
 * @uses allocator.conformance.DeviceProbeProvider the probes of their devices
 * @uses allocator.spi.EpFactory the providers that the runner can prove
 */
@NullMarked
@SuppressWarnings("module") // the command is built later
module java.allocator.conformance.runner {
    requires info.picocli;
    requires java.management;
    requires transitive java.allocator.conformance;
    requires static org.jspecify;
    requires org.junit.platform.launcher;

    exports allocator.conformance.runner;
    exports allocator.conformance.runner.output to
            java.allocator.cli;

    opens allocator.conformance.runner to
            info.picocli,
            org.junit.platform.commons;

    uses allocator.conformance.DeviceProbeProvider;
    uses allocator.spi.EpFactory;
}
