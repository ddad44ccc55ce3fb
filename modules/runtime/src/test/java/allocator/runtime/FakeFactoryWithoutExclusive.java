package allocator.runtime;

import allocator.spi.Allocator;
import allocator.spi.AllocatorOptions;
import allocator.spi.DeviceDiscovery;
import allocator.spi.EpFactory;
import allocator.spi.MemoryInfo;
import allocator.spi.OptionKey;
import allocator.testkit.FakeFactory;
import java.util.List;

/** A provider from before exclusive instances: it shares, and cannot do otherwise. */
final class FakeFactoryWithoutExclusive implements EpFactory {
    private final FakeFactory inner;

    FakeFactoryWithoutExclusive(FakeFactory inner) {
        this.inner = inner;
    }

    @Override
    public String name() {
        return inner.name();
    }

    @Override
    public String vendor() {
        return "tests";
    }

    @Override
    public String version() {
        return "0";
    }

    @Override
    public DeviceDiscovery discoverDevices() {
        return inner.discoverDevices();
    }

    @Override
    public List<OptionKey<?>> optionKeys() {
        return List.of(FakeFactory.MAX_MEM);
    }

    @Override
    public Allocator createAllocator(MemoryInfo info, AllocatorOptions options) {
        inner.keys(FakeFactory.KEYS);
        final Allocator allocator = inner.createAllocator(info, options);
        inner.created()
                .forEach(created -> created.effectiveOptions(
                        created.effectiveOptions().isEmpty()
                                ? created.effectiveOptions()
                                : AllocatorOptions.EMPTY.with(
                                        "arena.max_mem",
                                        String.valueOf(
                                                created.effectiveOptions().value("arena.max_mem")),
                                        created.effectiveOptions().origin("arena.max_mem"))));
        return allocator;
    }

    @Override
    public void releaseAllocator(Allocator allocator) {
        inner.releaseAllocator(allocator);
    }

    @Override
    public void close() {
        inner.close();
    }
}
