package allocator.cpu.reference;

import allocator.provider.support.internal.Copies;
import allocator.spi.DataTransfer;
import allocator.spi.DeviceType;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryRange;
import allocator.spi.SyncStream;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/** Copies within host memory. Copies are complete when the call returns, with a {@link CpuStream} as without. */
enum CpuTransfer implements DataTransfer {
    /** The only instance: it has no state. */
    INSTANCE;

    @Override
    public boolean canCopy(MemoryInfo source, MemoryInfo target) {
        return source.deviceType() == DeviceType.CPU && target.deviceType() == DeviceType.CPU;
    }

    @Override
    public void copy(MemoryRange source, MemoryRange target, @Nullable SyncStream stream) {
        Copies.requireValid(this, source, target);
        final MemorySegment from = HostHeap.segment(source.address(), source.byteSize());
        HostHeap.segment(target.address(), target.byteSize()).copyFrom(from);
    }
}
