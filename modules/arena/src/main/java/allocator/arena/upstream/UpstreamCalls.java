package allocator.arena.upstream;

import allocator.provider.support.event.AllocatorEvents;
import allocator.provider.support.event.DeviceCall;
import allocator.provider.support.event.DevicePart;
import allocator.spi.Allocator;

/** Calls of an upstream allocator that take memory, with their events. */
public final class UpstreamCalls {
    private UpstreamCalls() {}

    /**
     * Takes memory. What this adds to the call of the upstream allocator does not fail.
     *
     * @param upstream the upstream allocator
     * @param part what the memory is for
     * @param byteSize size in bytes
     * @return the address that the upstream allocator returned
     */
    public static long take(Allocator upstream, DevicePart part, long byteSize) {
        final DeviceCall call = AllocatorEvents.growing(upstream.info(), part, byteSize);
        long address = 0;
        try {
            address = part == DevicePart.RESERVE ? upstream.reserve(byteSize) : upstream.alloc(byteSize);
            return address;
        } finally {
            call.end(address != 0, address);
        }
    }
}
