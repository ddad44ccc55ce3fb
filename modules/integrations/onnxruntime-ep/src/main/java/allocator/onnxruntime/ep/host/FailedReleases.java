package allocator.onnxruntime.ep.host;

import allocator.provider.support.internal.Failures;
import allocator.spi.Allocator;
import allocator.spi.DeviceException;
import allocator.spi.EpFactory;
import allocator.spi.SyncStream;
import allocator.spi.UnknownAllocatorException;
import java.util.ArrayDeque;
import java.util.Deque;

/** Releases that a provider rejected; {@link #returnAll} tries them again, as ONNX Runtime keeps no handle. */
final class FailedReleases {
    private final EpFactory provider;

    /** Guards itself. */
    private final Deque<Runnable> failed = new ArrayDeque<>();

    FailedReleases(EpFactory provider) {
        this.provider = provider;
    }

    /**
     * Returns a reference to an allocator. After a {@link DeviceException} it is returned, and the provider offers its
     * memory to the device again when it is closed; anything else that is thrown is tried again.
     */
    void release(Allocator target) {
        try {
            provider.releaseAllocator(target);
        } catch (DeviceException | UnknownAllocatorException e) {
            throw e;
        } catch (Throwable e) {
            add(() -> provider.releaseAllocator(target));
            throw e;
        }
    }

    /** Closes a stream. If that throws, it is closed again. */
    void close(SyncStream stream) {
        try {
            stream.close();
        } catch (Throwable e) {
            add(stream::close);
            throw e;
        }
    }

    private void add(Runnable release) {
        synchronized (failed) {
            failed.addLast(release);
        }
    }

    /** Tries everything again, once; what throws once more remains, apart from an allocator that the provider has. */
    void returnAll(Failures failures) {
        final Deque<Runnable> again;
        synchronized (failed) {
            again = new ArrayDeque<>(failed);
            failed.clear();
        }
        for (final Runnable release : again) {
            try {
                release.run();
            } catch (UnknownAllocatorException e) {
                // The attempt before had its effect, although it threw.
            } catch (Throwable e) {
                failures.add(e);
                add(release);
            }
        }
    }
}
