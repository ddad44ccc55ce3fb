package allocator.onnxruntime.ep.capi;

import allocator.conformance.ConformanceSettings;
import allocator.conformance.DeviceProbe;
import allocator.conformance.runner.ConformanceReport;
import allocator.conformance.runner.ConformanceReport.RuleResult;
import allocator.conformance.runner.ConformanceReport.Status;
import allocator.conformance.runner.ConformanceReport.TestResult;
import allocator.conformance.runner.ConformanceRunner;
import allocator.cpu.reference.CpuReferenceFactory;
import allocator.cuda.simulated.SimulatedCudaDriver;
import allocator.onnxruntime.support.ThrowingThunk;
import allocator.spi.EpFactory;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;

/** Runs the conformance kit on a provider behind ONNX Runtime's C API, and writes the results to a file. */
public final class CApiConformanceProgram {
    /** The devices beneath the factories. */
    private static final Map<EpFactory, DeviceProbe> PROBES = new ConcurrentHashMap<>();

    private CApiConformanceProgram() {}

    /**
     * Runs it.
     *
     * @param args the provider, the file that gets a line for each rule that is broken or not proved, and the file that
     *     gets the messages
     */
    public static void main(String[] args) throws IOException {
        returnNullForFailures();
        final ConformanceReport report = new ConformanceRunner(
                        providers(args[0]),
                        factory -> Optional.ofNullable(PROBES.get(factory)),
                        ConformanceSettings.DEFAULT.withQuick(true),
                        "*")
                .run(_ -> {});
        final List<String> rules = new ArrayList<>();
        final List<String> messages = new ArrayList<>();
        for (final RuleResult rule : report.rules()) {
            if (rule.status() != Status.PASSED && rule.status() != Status.UNTESTED) {
                rules.add(rule.id() + " " + rule.status());
            }
        }
        for (final TestResult test : report.tests()) {
            if (test.status() == Status.FAILED) {
                messages.add(test.name() + ": " + test.message());
            }
        }
        Files.write(Path.of(args[1]), rules);
        Files.write(Path.of(args[2]), messages);
        System.exit(0);
    }

    private static Supplier<EpFactory> providers(String name) {
        return switch (name) {
            case "cpu-reference" -> () -> new CApiFactory(new CpuReferenceFactory());
            case "cuda-arena" -> CApiConformanceProgram::simulated;
            default -> throw new IllegalArgumentException(name);
        };
    }

    private static EpFactory simulated() {
        final SimulatedCudaDriver driver =
                SimulatedCudaDriver.builder().withLaggingStreams().build();
        final EpFactory factory = new CApiFactory(driver.provider("cuda-arena"));
        PROBES.put(factory, new SimulatedProbe(driver.controls()));
        return factory;
    }

    /**
     * Makes an allocation that fails return the null pointer, as on a machine that has no code to throw a C++
     * exception: {@code Reserve} and {@code AllocOnStream} have no status, and no exception may pass through a call
     * from Java.
     */
    private static void returnNullForFailures() {
        final String machine = System.setProperty("os.arch", "unknown");
        final boolean throwsFailures = ThrowingThunk.isSupported();
        System.setProperty("os.arch", machine);
        if (throwsFailures) {
            throw new AssertionError("a failure is a C++ exception");
        }
    }
}
