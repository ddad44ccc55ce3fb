package allocator.cuda.arena;

import allocator.cuda.driver.CudaAvailability;
import allocator.cuda.driver.CudaDriver;
import allocator.cuda.memory.CudaDevice;
import allocator.cuda.memory.CudaEpFactory;
import allocator.cuda.memory.DeviceMemory;
import allocator.spi.Allocator;
import allocator.spi.AllocatorOptions;
import allocator.spi.EpFactory;
import allocator.spi.MemoryInfo;
import allocator.spi.OptionKey;
import allocator.testkit.pages.PageCalls;
import allocator.testkit.pages.PageSubject;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.Map;

/** Pages of the first device of a driver. */
final class DevicePagesFixture implements PageSubject {
    private final CudaDriver driver;
    private final Factory factory;
    private final Allocator allocator;
    private final DevicePages pages;
    private final PageCalls calls;

    /** Retains the device's context while there is an allocator, and tells the device. */
    private static final class Factory extends CudaEpFactory {
        private CudaDevice device;

        Factory(CudaDriver driver) {
            super(() -> new CudaAvailability.Available(driver));
        }

        @Override
        protected Choice choose(CudaDevice device, MemoryInfo info, AllocatorOptions options) {
            this.device = device;
            return new Choice(null, () -> new DeviceMemory(device, info));
        }

        @Override
        public String name() {
            return "pages";
        }

        @Override
        public List<OptionKey<?>> optionKeys() {
            return List.of();
        }
    }

    DevicePagesFixture(CudaDriver driver, long pageBytes) {
        this.driver = driver;
        factory = new Factory(driver);
        final MemoryInfo memory =
                factory.discoverDevices().devices().getFirst().defaultMemory().orElseThrow();
        allocator = factory.createAllocator(memory, AllocatorOptions.of(Map.of()));
        try {
            pages = new DevicePages(factory.device, memory, pageBytes, List.of());
        } catch (Throwable e) {
            closeFactory(factory, allocator);
            throw e;
        }
        calls = new PageCalls(
                pages::pageBytes,
                pages::reserve,
                pages::unreserve,
                pages::create,
                pages::release,
                pages::map,
                pages::unmap,
                pages::close);
    }

    DevicePages source() {
        return pages;
    }

    long freeBytes() {
        return driver.memory().memGetInfo(0).freeByteSize();
    }

    @Override
    public PageCalls pages() {
        return calls;
    }

    @Override
    public void write(long address, byte[] bytes) {
        try (Arena arena = Arena.ofConfined()) {
            final MemorySegment source = arena.allocateFrom(ValueLayout.JAVA_BYTE, bytes);
            driver.memory().memcpyHtoD(0, address, source.address(), bytes.length);
            driver.devices().ctxSynchronize(0);
        }
    }

    @Override
    public byte[] read(long address, int byteSize) {
        try (Arena arena = Arena.ofConfined()) {
            final MemorySegment target = arena.allocate(byteSize);
            driver.memory().memcpyDtoH(0, target.address(), address, byteSize);
            driver.devices().ctxSynchronize(0);
            return target.toArray(ValueLayout.JAVA_BYTE);
        }
    }

    @Override
    public void close() {
        closeFactory(factory, allocator);
    }

    private static void closeFactory(EpFactory factory, Allocator allocator) {
        factory.releaseAllocator(allocator);
        factory.close();
    }
}
