package allocator.bench.models;

import ai.onnxruntime.OrtEnvironment;
import allocator.bench.AddressSource;
import allocator.onnxruntime.OnnxRuntimeAllocators;
import allocator.onnxruntime.OnnxRuntimeFactory;
import allocator.spi.Allocator;
import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorType;
import allocator.spi.DeviceType;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryLocation;
import allocator.spi.MemoryType;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * What a call from ONNX Runtime into Java and back costs: {@code AllocatorAlloc} or {@code AllocatorFree} of the C API
 * calls the installed allocator, with all that is counted on the way, and the downcall that gets there on top; and the
 * same allocator called by Java.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Fork(3)
@Warmup(iterations = 5, time = 1)
@Measurement(iterations = 5, time = 1)
public class UpcallCost {
    private static final int CALLS = 2;
    private static final long BYTES = 1000;
    private static final MemoryInfo INFO = new MemoryInfo(
            "Cpu", new MemoryLocation(DeviceType.CPU, 0, 0, MemoryType.DEFAULT), 64, AllocatorType.DEVICE);

    /** What is installed: an allocator that does next to nothing, or a provider. */
    @Param({"nothing", "cpu-reference"})
    public String beneath = "";

    private final OnnxRuntimeFactory factory = new OnnxRuntimeFactory();
    private @Nullable OnnxRuntimeAllocators installed;
    private @Nullable Allocator java;
    private @Nullable Allocator exported;

    /** Installs it; the allocator that ONNX Runtime's environment shares is the installed one then. */
    @Setup
    public void install() {
        final OnnxRuntimeAllocators.Builder builder = OnnxRuntimeAllocators.on(OrtEnvironment.getEnvironment());
        installed = (beneath.equals("nothing") ? builder.allocator(new AddressSource(INFO)) : builder.provider(beneath))
                .install();
        java = installed.allocator();
        exported = factory.createAllocator(
                factory.discoverDevices().devices().getFirst().defaultMemory().orElseThrow(),
                AllocatorOptions.of(Map.of("ort.source", "shared", "ort.check_frees", "0")));
    }

    /** A call by Java. */
    @Benchmark
    @OperationsPerInvocation(CALLS)
    public void byJava() {
        pair(Objects.requireNonNull(java));
    }

    /** A call by ONNX Runtime. */
    @Benchmark
    @OperationsPerInvocation(CALLS)
    public void byOnnxRuntime() {
        pair(Objects.requireNonNull(exported));
    }

    private static void pair(Allocator allocator) {
        allocator.free(allocator.alloc(BYTES));
    }

    /** Ends the installation. */
    @TearDown
    public void close() {
        factory.releaseAllocator(Objects.requireNonNull(exported));
        Objects.requireNonNull(installed).close();
        factory.close();
    }
}
