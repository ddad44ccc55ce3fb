package allocator.cuda.resource;

import allocator.cuda.driver.CudaDriver;
import allocator.cuda.resource.DeviceRuntime.Settings;
import allocator.resource.log.RmmLog;
import allocator.resource.tracked.Access;
import allocator.resource.tracked.TrackedBlock;
import allocator.resource.tracked.TrackedMemory;
import allocator.spi.SyncStream;
import java.time.Duration;

/** Recorded launches on streams of a pool, within the budget of a device. */
final class RecordedLaunchSample {
    private RecordedLaunchSample() {}

    /** Fills a block on one stream and copies it on another one; returns whether all memory came back. */
    static boolean fillAndCopy(CudaDriver cuda, RmmLog log) {
        try (DeviceRuntime gpu = DeviceRuntime.of(cuda, 0, Settings.DEFAULT.withLog(log))) {
            final TrackedMemory memory = gpu.tracked();
            final SyncStream filling = gpu.streams().acquire();
            final SyncStream copying = gpu.streams().acquire();
            final TrackedBlock source = memory.allocate(4096, filling, "source");
            final TrackedBlock target = memory.allocate(4096, copying, "target");
            memory.launch(filling)
                    .uses(source, Access.WRITE)
                    .run(on -> cuda.memory().memsetD8Async(0, source.address(), (byte) 7, 4096, filling.handle()));
            memory.launch(copying) // which waits for the fill
                    .uses(source, Access.READ)
                    .uses(target, Access.WRITE)
                    .run(on -> cuda.memory()
                            .memcpyDtoDAsync(0, target.address(), source.address(), 4096, copying.handle()));
            memory.free(source); // pending until the copy is done
            memory.free(target);
            copying.flush();
            gpu.streams().release(filling);
            gpu.streams().release(copying);
            return memory.reap(Duration.ofSeconds(1));
        }
    }
}
