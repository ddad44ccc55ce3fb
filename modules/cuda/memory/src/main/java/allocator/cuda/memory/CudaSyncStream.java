package allocator.cuda.memory;

import allocator.cuda.driver.CudaException;
import allocator.cuda.driver.CudaStreams;
import allocator.spi.MemoryInfo;
import allocator.spi.SyncNotification;
import allocator.spi.SyncStream;
import java.util.concurrent.CountDownLatch;
import java.util.function.Consumer;

/**
 * A CUDA stream that does not wait for the legacy default stream.
 *
 * <p>Closing it waits for its work, on its own device whatever thread calls. Only then is what was freed on it given to
 * others. If the device cannot say that the work is done, memory stays tied to the stream until its allocator is
 * closed: lost for a while, but never used by two.
 */
public final class CudaSyncStream extends SyncStream {
    private final CudaDevice device;
    private final CudaStreams streams;
    private final long handle;
    private final Consumer<CudaSyncStream> onRunEnd;
    private final Consumer<CudaSyncStream> release;
    private final Consumer<CudaSyncStream> onClose;
    private final UseGuard guard = new UseGuard();
    private final CountDownLatch ended = new CountDownLatch(1);
    private boolean isDrained;

    /**
     * @param device the device, with a context
     * @param memory the memory that the stream orders
     * @param onRunEnd lets every stream use what was freed on this one
     * @param release ends every tie to this stream, whose work is done for ever
     * @param onClose told once, when the stream is no more
     */
    CudaSyncStream(
            CudaDevice device,
            MemoryInfo memory,
            Consumer<CudaSyncStream> onRunEnd,
            Consumer<CudaSyncStream> release,
            Consumer<CudaSyncStream> onClose) {
        super(memory);
        this.device = device;
        this.onRunEnd = onRunEnd;
        this.release = release;
        this.onClose = onClose;
        streams = device.driver().streams();
        handle = streams.streamCreate(device.ordinal());
    }

    /**
     * The device that does the stream's work.
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
     * Whether {@link #close} has begun. What is allocated on the stream before this answers {@code true} is untied by
     * the close.
     *
     * @return whether the stream takes no more calls
     */
    public boolean isClosed() {
        return guard.isClosed();
    }

    /**
     * Waits until a stream that {@link #isClosed} has ended.
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
        onRunEnd.accept(this);
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
                release.accept(this);
            }
            calls.insist(() -> streams.streamDestroy(device.ordinal(), handle));
        } finally {
            ended.countDown();
            onClose.accept(this);
        }
        calls.throwIfFailed();
    }
}
