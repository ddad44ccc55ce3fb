package allocator.bench.soak;

import allocator.bench.pairs.Machine;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryMXBean;
import java.util.EnumMap;
import java.util.Map;
import java.util.Optional;

/** Takes samples of what this process has of memory. */
final class ProcessMemory {
    private ProcessMemory() {}

    /**
     * Collects the Java heap, lets {@code malloc} give back what is free, and returns what is left of each source, in
     * KiB. A source that this system has no figures of is {@code 0}.
     *
     * @throws IOException if a figure cannot be read
     */
    static Map<Source, Long> sample() throws IOException {
        System.gc();
        final Map<Source, Long> sample = new EnumMap<>(Source.class);
        final Optional<CLibrary.Blocks> blocks = CLibrary.blocks();
        sample.put(Source.IN_USE, blocks.map(CLibrary.Blocks::inUseBytes).orElse(0L) >> 10);
        sample.put(Source.KEPT, blocks.map(CLibrary.Blocks::freeBytes).orElse(0L) >> 10);
        CLibrary.trim();
        sample.put(Source.RESIDENT, Machine.kibibytes("VmRSS:"));
        final MemoryMXBean memory = ManagementFactory.getMemoryMXBean();
        sample.put(Source.JAVA_HEAP, memory.getHeapMemoryUsage().getUsed() >> 10);
        sample.put(Source.CODE, memory.getNonHeapMemoryUsage().getUsed() >> 10);
        return sample;
    }
}
