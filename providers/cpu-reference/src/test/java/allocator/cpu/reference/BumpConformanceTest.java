package allocator.cpu.reference;

import allocator.conformance.AllocatorConformance;
import allocator.conformance.ConformanceSettings;
import allocator.spi.Allocator;
import allocator.spi.AllocatorOptions;
import allocator.spi.EpFactory;
import allocator.spi.MemoryInfo;
import allocator.spi.OptionKey;
import allocator.testkit.ForwardingFactory;
import java.util.List;
import java.util.Map;

/** The provider keeps the whole contract with {@code arena.kind=bump} too. */
class BumpConformanceTest extends AllocatorConformance {
    private static final String KIND = "arena.kind";

    /** The key, with the default that applies here. */
    private static final OptionKey<String> BUMP =
            OptionKey.choice(KIND, "bump", Map.of("bfc", "bfc", "bump", "bump"), "which kind of arena");

    @Override
    protected EpFactory factory() {
        return new ForwardingFactory(new CpuReferenceFactory()) {
            @Override
            public List<OptionKey<?>> optionKeys() {
                return super.optionKeys().stream()
                        .<OptionKey<?>>map(key -> key.name().equals(KIND) ? BUMP : key)
                        .toList();
            }

            // Creates a bump arena unless the options name a kind.
            @Override
            public Allocator createAllocator(MemoryInfo info, AllocatorOptions options) {
                return super.createAllocator(
                        info,
                        options.value(KIND) == null ? options.with(KIND, "bump", AllocatorOptions.DEFAULT) : options);
            }
        };
    }

    @Override
    protected ConformanceSettings settings(ConformanceSettings configured) {
        return configured.withQuick(true);
    }
}
