package allocator.cpu.reference;

import allocator.conformance.AllocatorConformance;
import allocator.spi.Allocator;
import allocator.spi.AllocatorOptions;
import allocator.spi.DataTransfer;
import allocator.spi.DeviceDiscovery;
import allocator.spi.EpFactory;
import allocator.spi.MemoryInfo;
import allocator.spi.OptionKey;
import allocator.spi.SyncStream;
import java.util.List;
import java.util.Optional;

/** The provider keeps the whole contract with {@code arena.kind=bump} too. */
class BumpConformanceTest extends AllocatorConformance {
    @Override
    protected EpFactory factory() {
        return new Bumping();
    }

    /** The factory, with bump arenas for all who do not ask for a kind. */
    private static final class Bumping implements EpFactory {
        private final EpFactory factory = new CpuReferenceFactory();

        @Override
        public Allocator createAllocator(MemoryInfo info, AllocatorOptions options) {
            return factory.createAllocator(
                    info,
                    options.value("arena.kind") == null
                            ? options.with("arena.kind", "bump", AllocatorOptions.EXPLICIT)
                            : options);
        }

        @Override
        public String name() {
            return factory.name();
        }

        @Override
        public String vendor() {
            return factory.vendor();
        }

        @Override
        public String version() {
            return factory.version();
        }

        @Override
        public DeviceDiscovery discoverDevices() {
            return factory.discoverDevices();
        }

        @Override
        public List<OptionKey<?>> optionKeys() {
            return factory.optionKeys();
        }

        @Override
        public void releaseAllocator(Allocator allocator) {
            factory.releaseAllocator(allocator);
        }

        @Override
        public boolean isStreamAware(MemoryInfo info) {
            return factory.isStreamAware(info);
        }

        @Override
        public SyncStream createSyncStream(MemoryInfo info) {
            return factory.createSyncStream(info);
        }

        @Override
        public Optional<DataTransfer> dataTransfer() {
            return factory.dataTransfer();
        }

        @Override
        public void close() {
            factory.close();
        }
    }
}
