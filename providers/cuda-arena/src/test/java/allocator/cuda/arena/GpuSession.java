package allocator.cuda.arena;

import allocator.runtime.Environment;
import allocator.runtime.ManagedAllocator;
import allocator.runtime.RunOptions;
import allocator.runtime.Session;
import allocator.runtime.SessionOptions;
import allocator.spi.SyncNotification;
import allocator.spi.SyncStream;
import java.lang.foreign.MemorySegment;

/** A session on a GPU: weights are loaded, data goes in, two streams work on it, and the result comes out. */
final class GpuSession {
    private GpuSession() {}

    /** Returns the data with the weights behind it. */
    static float[] run(Environment environment, float[] weights, float[] data) {
        final SessionOptions options =
                SessionOptions.builder().provider("cuda-arena").build();
        final float[] result = new float[data.length + weights.length];
        final long dataBytes = 4L * data.length;
        final long weightBytes = 4L * weights.length;
        try (Session session = environment.openSession(options)) {
            final ManagedAllocator gpu = session.allocator();
            final ManagedAllocator readOnly =
                    session.initializerAllocator(gpu.info().location()).orElseThrow();
            final long loaded = session.loadInitializer(MemorySegment.ofArray(weights));
            session.run(RunOptions.builder().shrink("gpu:0").build(), run -> {
                final SyncStream in = run.stream(0);
                final SyncStream out = run.stream(1);
                final long block = gpu.allocOnStream(dataBytes + weightBytes, in);
                run.transfers().copy(MemorySegment.ofArray(data), gpu.range(block, dataBytes), in);
                run.transfers()
                        .copy(readOnly.range(loaded, weightBytes), gpu.range(block + dataBytes, weightBytes), in);
                try (SyncNotification copied = in.createNotification()) {
                    copied.activate();
                    copied.waitOnDevice(out);
                }
                run.transfers().copy(gpu.range(block, dataBytes + weightBytes), MemorySegment.ofArray(result), out);
                gpu.free(block);
            });
            readOnly.free(loaded);
        }
        return result;
    }
}
