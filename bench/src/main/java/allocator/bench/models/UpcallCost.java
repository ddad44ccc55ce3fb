package allocator.bench.models;

import ai.onnxruntime.OrtEnvironment;
import allocator.onnxruntime.OnnxRuntimeAllocators;
import allocator.onnxruntime.OnnxRuntimeFactory;
import allocator.spi.Allocator;
import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorType;
import allocator.spi.DeviceType;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryLocation;
import allocator.spi.MemoryType;
import allocator.spi.SpiLevel;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * What a call from ONNX Runtime into Java and back costs. Java calls {@code AllocatorAlloc} or {@code AllocatorFree} of
 * the C API, which calls the installed allocator: from ONNX Runtime to Java and back, with all that is counted on the
 * way, and the downcall that gets there on top. Beneath it is an allocator that does nothing, or that of
 * {@code cpu-reference}.
 *
 * <p>The rounds of all rows take turns; a figure is the median of their processor time for one call. Argument: rounds.
 */
public final class UpcallCost {
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    private static final int PAIRS = 20_000;
    private static final long BYTES = 1000;

    private UpcallCost() {}

    /** One block, handed out again and again. */
    private static final class Nothing implements Allocator {
        @Override
        public long alloc(long byteSize) {
            return 4096;
        }

        @Override
        public void free(long address) {
            // It stays where it is.
        }

        @Override
        public MemoryInfo info() {
            return new MemoryInfo(
                    "Cpu", new MemoryLocation(DeviceType.CPU, 0, 0, MemoryType.DEFAULT), 64, AllocatorType.DEVICE);
        }

        @Override
        public int spiLevel() {
            return SpiLevel.MINIMUM;
        }
    }

    /** What is measured. */
    private record Row(String name, Allocator allocator, Sample nanos) {}

    /**
     * Measures.
     *
     * @param args rounds
     */
    public static void main(String[] args) {
        final int rounds = Integer.parseInt(args[0]);
        System.out.println("| beneath | called | cpu ns/call | 95 % |");
        System.out.println("|---|---|---|---|");
        final OnnxRuntimeAllocators.Builder nothing =
                OnnxRuntimeAllocators.on(OrtEnvironment.getEnvironment()).allocator(new Nothing());
        measure("nothing", nothing, rounds);
        measure(
                "cpu-reference",
                OnnxRuntimeAllocators.on(OrtEnvironment.getEnvironment()).provider("cpu-reference"),
                rounds);
    }

    private static void measure(String name, OnnxRuntimeAllocators.Builder builder, int rounds) {
        try (OnnxRuntimeFactory factory = new OnnxRuntimeFactory();
                OnnxRuntimeAllocators memory = builder.install()) {
            // The allocator that the environment shares is the installed one.
            final Allocator exported = factory.createAllocator(
                    factory.discoverDevices()
                            .devices()
                            .getFirst()
                            .defaultMemory()
                            .orElseThrow(),
                    AllocatorOptions.of(Map.of("ort.source", "shared", "ort.check_frees", "0")));
            final List<Row> rows = List.of(
                    new Row("by Java", memory.allocator(), new Sample()),
                    new Row("by ONNX Runtime", exported, new Sample()));
            for (int round = -rounds / 2; round < rounds; round++) {
                for (final Row row : rows) {
                    final double nanos = nanosPerCall(row.allocator);
                    if (round >= 0) {
                        row.nanos.add(nanos);
                    }
                }
            }
            for (final Row row : rows) {
                System.out.printf(
                        Locale.ROOT,
                        "| %s | %s | %.1f | %s |%n",
                        name,
                        row.name,
                        row.nanos.median(),
                        row.nanos.interval("%.1f"));
            }
            factory.releaseAllocator(exported);
        }
    }

    private static double nanosPerCall(Allocator allocator) {
        final long start = THREADS.getCurrentThreadCpuTime();
        for (int i = 0; i < PAIRS; i++) {
            allocator.free(allocator.alloc(BYTES));
        }
        return (THREADS.getCurrentThreadCpuTime() - start) / (2.0 * PAIRS);
    }
}
