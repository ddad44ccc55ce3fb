package allocator.cpu.reference;

import allocator.spi.Allocator;
import allocator.spi.AllocatorOptions;
import allocator.spi.MemoryInfo;
import allocator.testkit.SmallHeap;
import java.util.ArrayList;
import java.util.List;

/** A program whose first allocations are made where the Java heap ends. Run in its own JVM. */
final class FirstUse {
    private FirstUse() {}

    public static void main(String[] args) {
        final CpuReferenceFactory factory = new CpuReferenceFactory();
        final List<Allocator> allocators = new ArrayList<>();
        for (final MemoryInfo memory :
                factory.discoverDevices().devices().getFirst().memoryInfos()) {
            allocators.add(factory.createAllocator(memory, AllocatorOptions.EMPTY));
        }
        SmallHeap.call(() -> allocators.forEach(FirstUse::use));
        allocators.forEach(FirstUse::use);
        allocators.forEach(factory::releaseAllocator);
        factory.close();
    }

    private static void use(Allocator allocator) {
        allocator.free(allocator.alloc(64));
        allocator.free(allocator.alloc(64 << 20));
    }
}
