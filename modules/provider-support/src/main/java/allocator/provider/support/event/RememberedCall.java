package allocator.provider.support.event;

import allocator.provider.support.event.RecentEvent.Kind;
import allocator.spi.MemoryInfo;

/** A call of a device that is one of the recent events if it succeeds. */
final class RememberedCall extends DeviceCall {
    private final DeviceCall recorded;
    private final EventRing ring;
    private final Kind kind;
    private final MemoryInfo memory;
    private long byteSize;

    RememberedCall(DeviceCall recorded, EventRing ring, Kind kind, MemoryInfo memory, long byteSize) {
        this.recorded = recorded;
        this.ring = ring;
        this.kind = kind;
        this.memory = memory;
        this.byteSize = byteSize;
    }

    @Override
    public void measured(long bytes) {
        byteSize = bytes;
        recorded.measured(bytes);
    }

    @Override
    public void end(boolean isSuccess, long address) {
        recorded.end(isSuccess, address);
        if (isSuccess) {
            ring.add(kind, "", memory, address, byteSize, 0);
        }
    }
}
