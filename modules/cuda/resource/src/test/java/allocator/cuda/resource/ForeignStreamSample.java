package allocator.cuda.resource;

import allocator.cuda.driver.CudaDriver;
import allocator.cuda.driver.HostSegments;
import allocator.resource.MemoryResource;
import allocator.resource.typed.PolymorphicAllocator;
import allocator.spi.SyncNotification;
import allocator.spi.SyncStream;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** Memory in the order of a stream that another library owns. */
final class ForeignStreamSample {
    private ForeignStreamSample() {}

    /** Copies data to the GPU on a foreign stream, and back on a stream of our own that has waited for it. */
    static float[] roundTrip(CudaDriver cuda, long foreign, float[] data) {
        try (DeviceRuntime gpu = DeviceRuntime.of(cuda, 0);
                MemoryResource pinned = new CudaPinnedResource(cuda, 0);
                SyncStream in = gpu.viewStream(foreign);
                SyncStream out = gpu.openStream()) {
            final long byteSize = 4L * data.length;
            final MemorySegment staging = HostSegments.at(pinned.allocate(byteSize), byteSize);
            final var floats = new PolymorphicAllocator<>(gpu.resource(), ValueLayout.JAVA_FLOAT).on(in);
            final long block = floats.allocate(data.length);
            staging.copyFrom(MemorySegment.ofArray(data));
            cuda.memory().memcpyHtoDAsync(0, block, staging.address(), byteSize, in.handle());
            try (SyncNotification copied = in.createNotification()) {
                copied.activate();
                copied.waitOnDevice(out);
            }
            cuda.memory().memcpyDtoHAsync(0, staging.address(), block, byteSize, out.handle());
            out.flush();
            floats.deallocate(block, data.length); // in the order of the foreign stream
            final float[] result = staging.toArray(ValueLayout.JAVA_FLOAT);
            pinned.deallocate(staging.address(), byteSize);
            return result;
        } // waits for the foreign stream, and does not destroy it
    }
}
