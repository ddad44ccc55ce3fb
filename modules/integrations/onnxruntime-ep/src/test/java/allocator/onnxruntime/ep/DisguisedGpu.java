package allocator.onnxruntime.ep;

import allocator.cpu.reference.CpuReferenceFactory;
import allocator.spi.Allocator;
import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorType;
import allocator.spi.DataTransfer;
import allocator.spi.DeviceDiscovery;
import allocator.spi.DeviceType;
import allocator.spi.EpDevice;
import allocator.spi.HardwareDevice;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryLocation;
import allocator.spi.MemoryRange;
import allocator.spi.MemoryType;
import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncStream;
import allocator.testkit.ForwardingFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** The provider {@code cpu-reference} with the memory of a GPU, which is host memory all the same. */
class DisguisedGpu extends ForwardingFactory {
    static final String NAME = "disguised-gpu";
    private static final int VENDOR = 0xBE57;
    static final MemoryInfo DEVICE = info("Disguised", MemoryType.DEFAULT);
    static final MemoryInfo PINNED = info("DisguisedPinned", MemoryType.HOST_ACCESSIBLE);

    private final List<SyncStream> streams = new ArrayList<>();
    private final List<String> copies = new ArrayList<>();
    private final List<SyncStream> allocatedOn = new ArrayList<>();

    DisguisedGpu() {
        super(new CpuReferenceFactory());
    }

    private static MemoryInfo info(String name, MemoryType type) {
        return new MemoryInfo(name, new MemoryLocation(DeviceType.GPU, VENDOR, 0, type), 256, AllocatorType.DEVICE);
    }

    List<SyncStream> streams() {
        return streams;
    }

    /** The copies so far, as {@code source > target}, with the stream's id if there was one. */
    List<String> copies() {
        return copies;
    }

    /** The streams of allocations. */
    List<SyncStream> allocatedOn() {
        return allocatedOn;
    }

    private MemoryInfo real() {
        return super.discoverDevices().devices().getFirst().defaultMemory().orElseThrow();
    }

    @Override
    public String name() {
        return NAME;
    }

    @Override
    public DeviceDiscovery discoverDevices() {
        return DeviceDiscovery.of(EpDevice.on(new HardwareDevice(DeviceType.GPU, VENDOR, 0, "Disguised 1", Map.of()))
                .memory(DEVICE)
                .memory(PINNED)
                .build());
    }

    @Override
    public Allocator createAllocator(MemoryInfo info, AllocatorOptions options) {
        final Allocator real = super.createAllocator(real(), options);
        return info.equals(DEVICE) ? new StreamAware(info, real) : new Disguise(info, real);
    }

    @Override
    public void releaseAllocator(Allocator allocator) {
        super.releaseAllocator(((Disguise) allocator).target());
    }

    @Override
    public boolean isStreamAware(MemoryInfo info) {
        return info.equals(DEVICE);
    }

    @Override
    public SyncStream createSyncStream(MemoryInfo info) {
        final SyncStream stream = super.createSyncStream(real());
        streams.add(stream);
        return stream;
    }

    @Override
    public Optional<DataTransfer> dataTransfer() {
        final DataTransfer real = super.dataTransfer().orElseThrow();
        return Optional.of(new DataTransfer() {
            @Override
            public boolean canCopy(MemoryInfo source, MemoryInfo target) {
                return isReachable(source) && isReachable(target);
            }

            @Override
            public void copy(MemoryRange source, MemoryRange target, @Nullable SyncStream stream) {
                copies.add(source.memory().location() + " > " + target.memory().location()
                        + (stream == null ? "" : " on " + stream.id()));
                real.copy(realRange(source), realRange(target), stream);
            }
        });
    }

    private static boolean isReachable(MemoryInfo memory) {
        return memory.isSameMemoryAs(DEVICE) || memory.isSameMemoryAs(PINNED) || memory.deviceType() == DeviceType.CPU;
    }

    private MemoryRange realRange(MemoryRange range) {
        return new MemoryRange(real(), range.address(), range.byteSize());
    }

    private static class Disguise extends Forwarding.Arena {
        private final MemoryInfo info;

        Disguise(MemoryInfo info, Allocator real) {
            super(real);
            this.info = info;
        }

        @Override
        public MemoryInfo info() {
            return info;
        }
    }

    private final class StreamAware extends Disguise implements StreamAwareAllocator {
        StreamAware(MemoryInfo info, Allocator real) {
            super(info, real);
        }

        @Override
        public long allocOnStream(long byteSize, SyncStream stream) {
            allocatedOn.add(stream);
            return ((StreamAwareAllocator) target()).allocOnStream(byteSize, stream);
        }
    }
}
