package allocator.cuda.memory;

import allocator.cuda.driver.CudaException;
import allocator.cuda.driver.CudaStreams;
import allocator.provider.support.StreamOwner;
import allocator.spi.MemoryInfo;
import allocator.spi.SyncNotification;
import allocator.spi.SyncStream;
import java.util.concurrent.CountDownLatch;

/**
 * A CUDA stream that does not wait for the legacy default stream.
 *
 * <p>Closing it waits for its work, on its own device whichever thread calls. Only then may memory freed on it serve
 * other streams. If the device cannot confirm that the work is done, memory stays bound to the stream until its
 * allocator is closed: unavailable for a while, but never used by two.
 */
public final class CudaSyncStream extends SyncStream {
    private final CudaDevice device;
    private final CudaStreams streams;
    private final long handle;
    private final StreamOwner<CudaSyncStream> owner;
    private final UseGuard guard = new UseGuard();
    private final CountDownLatch ended = new CountDownLatch(1);
    private boolean isDrained;

    /**
     * @param device the device, with a context
     * @param memory the memory that the stream orders
     * @param owner what the stream reports to
     */
    CudaSyncStream(CudaDevice device, MemoryInfo memory, StreamOwner<CudaSyncStream> owner) {
        super(memory);
        this.device = device;
        this.owner = owner;
        streams = device.driver().streams();
        handle = streams.streamCreate(device.ordinal());
    }

    /**
     * Returns the device that does the stream's work.
     *
     * @return the device
     */
    public CudaDevice device() {
        return device;
    }

    @Override
    public long handle() {
        return handle;
    }

    /** Keeps the native stream alive until {@link #endUse}; false if it is closed. */
    boolean tryUse() {
        return guard.tryEnter();
    }

    /**
     * Keeps the native stream alive until {@link #endUse}.
     *
     * @throws IllegalStateException if this stream is closed
     */
    void use() {
        if (!tryUse()) {
            throw closed();
        }
    }

    void endUse() {
        guard.exit();
    }

    private IllegalStateException closed() {
        return new IllegalStateException(this + " is closed");
    }

    /**
     * Returns whether {@link #close} has begun. Memory allocated on the stream while this returns {@code false} is
     * unbound by the close.
     *
     * @return whether the stream takes no more calls
     */
    public boolean isClosed() {
        return guard.isClosed();
    }

    /**
     * Waits until a stream that {@link #isClosed} has come to its end.
     *
     * @return whether its work is known to be done; otherwise what was used on it may still be in use
     */
    public boolean awaitEnd() {
        boolean interrupted = false;
        while (true) {
            try {
                ended.await();
                break;
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        return isDrained;
    }

    @Override
    public SyncNotification createNotification() {
        use();
        try {
            return new CudaNotification(this);
        } catch (CudaException e) {
            throw DriverCalls.deviceException(e);
        } finally {
            endUse();
        }
    }

    @Override
    public void flush() {
        use();
        try {
            streams.streamSynchronize(device.ordinal(), handle);
        } catch (CudaException e) {
            throw DriverCalls.deviceException(e);
        } finally {
            endUse();
        }
    }

    @Override
    public void onSessionRunEnd() {
        flush();
        owner.runEnded(this);
    }

    @Override
    public void close() {
        if (!guard.close()) {
            return;
        }
        final DriverCalls.All calls = new DriverCalls.All();
        try {
            isDrained = calls.insist(() -> streams.streamSynchronize(device.ordinal(), handle));
            if (isDrained) {
                setEnded();
                owner.workEnded(this);
            }
            calls.insist(() -> streams.streamDestroy(device.ordinal(), handle));
        } finally {
            ended.countDown();
            owner.closed(this);
        }
        calls.throwIfFailed();
    }
}
