package allocator.onnxruntime.ep.capi;

import allocator.spi.Allocator;
import allocator.spi.AllocatorOptions;
import allocator.spi.DataTransfer;
import allocator.spi.DeviceDiscovery;
import allocator.spi.EpDevice;
import allocator.spi.EpFactory;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryLocation;
import allocator.spi.MemoryRange;
import allocator.spi.SyncStream;
import allocator.testkit.ForwardingFactory;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A provider whose devices have other ordinals. ONNX Runtime's environment shares one allocator for each location, so
 * two registrations of a provider need locations of their own.
 */
final class RelocatedProvider extends ForwardingFactory {
    private final int offset;

    /**
     * Creates a provider.
     *
     * @param offset what is added to each ordinal; 0 changes nothing
     */
    RelocatedProvider(EpFactory provider, int offset) {
        super(provider);
        this.offset = offset;
    }

    private static MemoryInfo moved(MemoryInfo info, int by) {
        final MemoryLocation from = info.location();
        return new MemoryInfo(
                info.name(),
                new MemoryLocation(from.deviceType(), from.vendorId(), from.deviceOrdinal() + by, from.memoryType()),
                info.byteAlignment(),
                info.allocatorType());
    }

    /** Returns the info of the provider itself, of one that ONNX Runtime has. */
    MemoryInfo original(MemoryInfo info) {
        return isOwn(info) ? moved(info, -offset) : info;
    }

    private boolean isOwn(MemoryInfo info) {
        return discoverDevices().devices().stream()
                .flatMap(device -> device.memoryInfos().stream())
                .anyMatch(own -> own.isSameMemoryAs(info));
    }

    private MemoryRange original(MemoryRange range) {
        return new MemoryRange(original(range.memory()), range.address(), range.byteSize());
    }

    @Override
    public DeviceDiscovery discoverDevices() {
        final DeviceDiscovery found = super.discoverDevices();
        final List<EpDevice> devices = found.devices().stream().map(this::moved).toList();
        return new DeviceDiscovery(devices, found.notes());
    }

    private EpDevice moved(EpDevice device) {
        final EpDevice.Builder moved = EpDevice.on(device.hardware());
        for (final MemoryInfo info : device.memoryInfos()) {
            final EpDevice.Builder ignored = moved.memory(moved(info, offset));
        }
        return moved.build();
    }

    @Override
    public Allocator createAllocator(MemoryInfo info, AllocatorOptions options) {
        return super.createAllocator(original(info), options);
    }

    @Override
    public boolean isStreamAware(MemoryInfo info) {
        return super.isStreamAware(original(info));
    }

    @Override
    public SyncStream createSyncStream(MemoryInfo info) {
        return super.createSyncStream(original(info));
    }

    @Override
    public Optional<DataTransfer> dataTransfer() {
        return super.dataTransfer().map(transfer -> new DataTransfer() {
            @Override
            public boolean canCopy(MemoryInfo source, MemoryInfo target) {
                return transfer.canCopy(original(source), original(target));
            }

            @Override
            public void copy(MemoryRange source, MemoryRange target, @Nullable SyncStream stream) {
                transfer.copy(original(source), original(target), stream);
            }
        });
    }
}
