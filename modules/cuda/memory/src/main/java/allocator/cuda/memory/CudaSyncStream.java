package allocator.cuda.memory;

import allocator.cuda.driver.CudaException;
import allocator.cuda.driver.CudaStreams;
import allocator.provider.support.Endings;
import allocator.provider.support.StackReserve;
import allocator.provider.support.StreamOwner;
import allocator.provider.support.StreamUsers;
import allocator.provider.support.UseGuard;
import allocator.spi.MemoryInfo;
import allocator.spi.SyncNotification;
import allocator.spi.SyncStream;
import java.util.List;

/**
 * A CUDA stream that does not wait for the legacy default stream.
 *
 * <p>Closing it waits for its work, on its own device whichever thread calls. Only then may memory freed on it serve
 * other streams. If the device cannot confirm that the work is done, memory stays bound to the stream until a second
 * close succeeds or its allocator is closed: unavailable for a while, but never used by two.
 */
public final class CudaSyncStream extends SyncStream {
    private final CudaDevice device;
    private final CudaStreams streams;
    private final StreamOwner<CudaSyncStream> owner;
    private final StreamUsers<CudaAllocator> users;
    private final UseGuard guard = new UseGuard();
    private final Endings.End end;
    private final long handle;

    /** Guarded by {@link #guard}, as are those below. */
    private boolean isUnbound;

    private boolean isDestroyed;
    private boolean isReported;

    /**
     * @param device the device, with a context
     * @param memory the memory that the stream orders
     * @param owner what the stream reports to
     */
    CudaSyncStream(CudaDevice device, MemoryInfo memory, StreamOwner<CudaSyncStream> owner) {
        super(memory);
        this.device = device;
        this.owner = owner;
        users = new StreamUsers<>(owner::isOpen);
        streams = device.driver().streams();
        end = device.endings().of(this::end);
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

    /**
     * Records that an allocator is about to allocate on this stream, so that {@link CudaAllocator#endRun} and
     * {@link CudaAllocator#releaseStream} are called. If this method throws, the allocator has to allocate nothing.
     *
     * @param allocator the allocator, of the stream's device
     */
    public void usedBy(CudaAllocator allocator) {
        users.add(allocator);
    }

    /** Returns the allocators that have allocated on this stream and are open. */
    List<CudaAllocator> users() {
        return users.open();
    }

    /**
     * Keeps the native stream alive until {@link #endUse}, for a caller that has touched its stack; false if closed.
     */
    boolean tryUse() {
        return guard.tryEnter();
    }

    /**
     * Keeps the native stream alive until {@link #endUse}.
     *
     * @throws IllegalStateException if this stream is closed
     */
    void use() {
        StackReserve.touchShallow();
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

    /**
     * {@inheritDoc}
     *
     * <p>If the driver fails, the stream takes no more calls, and another close does what is left; so does the close of
     * the factory.
     */
    @Override
    public void close() {
        StackReserve.touch();
        guard.close();
        try {
            end.run();
        } finally {
            report();
        }
    }

    private void report() {
        synchronized (guard) {
            if (isReported) {
                return;
            }
            isReported = true;
        }
        owner.closed(this);
    }

    /** Drains the native stream, unbinds memory from it and destroys it, as far as that is not done. */
    private void end() {
        synchronized (guard) {
            final DriverCalls.All calls = new DriverCalls.All();
            if (!hasEnded() && calls.insist(() -> streams.streamSynchronize(device.ordinal(), handle))) {
                setEnded();
            }
            if (!hasEnded()) {
                CudaLog.warning("{0}: its end cannot be confirmed, its memory is set aside until another close", this);
            }
            if (hasEnded() && !isUnbound) {
                isUnbound = calls.attempt(() -> owner.workEnded(this));
            }
            if (hasEnded() && !isDestroyed) {
                isDestroyed = calls.insist(() -> streams.streamDestroy(device.ordinal(), handle));
            }
            calls.throwIfFailed();
        }
    }
}
