package allocator.cpu.reference;

import allocator.conformance.AllocatorConformance;
import allocator.spi.Allocator;
import allocator.spi.AllocatorOptions;
import allocator.spi.EpFactory;
import allocator.spi.MemoryInfo;
import allocator.testkit.ForwardingFactory;

/** The provider keeps the whole contract with {@code arena.kind=bump} too. */
class BumpConformanceTest extends AllocatorConformance {
    private static final String KIND = "arena.kind";

    @Override
    protected EpFactory factory() {
        return new ForwardingFactory(new CpuReferenceFactory()) {
            // Creates a bump arena unless the options name a kind.
            @Override
            public Allocator createAllocator(MemoryInfo info, AllocatorOptions options) {
                return super.createAllocator(
                        info,
                        options.value(KIND) == null ? options.with(KIND, "bump", AllocatorOptions.EXPLICIT) : options);
            }
        };
    }
}
