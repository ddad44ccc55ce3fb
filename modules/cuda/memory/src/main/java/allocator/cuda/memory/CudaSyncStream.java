package allocator.cuda.memory;

import allocator.cuda.driver.CudaException;
import allocator.cuda.driver.CudaStreams;
import allocator.cuda.memory.check.StreamChecks;
import allocator.provider.support.StreamOwner;
import allocator.provider.support.UseGuard;
import allocator.provider.support.internal.Endings;
import allocator.provider.support.internal.StreamUsers;
import allocator.spi.MemoryInfo;
import allocator.spi.StreamCaptureException;
import allocator.spi.SyncNotification;
import allocator.spi.SyncStream;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A CUDA stream that does not wait for the legacy default stream.
 *
 * <p>Closing it waits for its work, on its own device whichever thread calls. Only then may memory freed on it serve
 * other streams. If the device cannot confirm that the work is done, memory stays bound to the stream until a second
 * close succeeds or its allocator is closed: unavailable for a while, but never used by two.
 *
 * <p>A <em>view</em> is a stream that other code has created. Its close destroys nothing. If its owner has destroyed
 * the driver's stream before, calls that wait or record throw {@link IllegalStateException}, and the close waits for
 * the whole device, as far as the driver reports it: it may end the process instead. {@link #closeIdle} does not ask
 * it.
 *
 * <p>While the stream is captured into a graph, calls that wait, record or close throw {@link StreamCaptureException},
 * before the driver is called: its call would invalidate the capture.
 */
public final class CudaSyncStream extends SyncStream {
    private static final String END = "close; end the capture first, then close the stream again";

    private final CudaDevice device;
    private final CudaStreams streams;
    private final StreamOwner<CudaSyncStream> owner;
    private final StreamUsers<CudaAllocator> users;
    private final UseGuard guard = new UseGuard();
    private final Endings.End end;
    private final long handle;
    private final boolean isView;

    /** The identity of the driver's stream, which is never reused; of a view only. */
    private final long nativeId;

    /** Whether the close of a view need not wait. */
    private volatile boolean isIdle;

    /** The neighbours in {@link DeviceStreams}, which guards them. */
    @Nullable
    CudaSyncStream previous;

    @Nullable
    CudaSyncStream next;

    /** Guarded by {@link #guard}, as are those below. */
    private boolean isUnbound;

    private boolean isDestroyed;
    private boolean isReported;

    /**
     * @param device the device, with a context; the stream reports to its owner of streams
     * @param memory the memory that the stream orders
     */
    private CudaSyncStream(CudaDevice device, MemoryInfo memory) {
        super(memory);
        this.device = device;
        owner = device.streamOwner();
        users = new StreamUsers<>(owner::isOpen);
        streams = device.driver().streams();
        end = device.endings().of(this::end);
        isView = false;
        nativeId = 0;
        handle = streams.streamCreate(device.ordinal());
    }

    /**
     * Makes a view.
     *
     * @param nativeId as {@link ForeignStreams#identify} returned it
     */
    private CudaSyncStream(CudaDevice device, MemoryInfo memory, long handle, long nativeId) {
        super(memory);
        this.device = device;
        owner = device.streamOwner();
        users = new StreamUsers<>(owner::isOpen);
        streams = device.driver().streams();
        end = device.endings().of(this::end);
        isView = true;
        this.nativeId = nativeId;
        this.handle = handle;
    }

    /** Creates a stream, which is in the device's list until it is closed. */
    static CudaSyncStream create(CudaDevice device) {
        final CudaSyncStream stream = new CudaSyncStream(device, device.defaultMemory());
        device.streams().add(stream);
        return stream;
    }

    /** Makes a view, which is in the device's list until it is closed. */
    static CudaSyncStream view(CudaDevice device, long handle) {
        final CudaSyncStream view =
                new CudaSyncStream(device, device.defaultMemory(), handle, ForeignStreams.identify(device, handle));
        device.streams().addView(view);
        return view;
    }

    /** Returns whether another stream of the device is the same one of the driver. */
    boolean isSameAs(CudaSyncStream view) {
        return isView ? nativeId == view.nativeId : handle == view.handle;
    }

    String describeNative() {
        return "CUstream 0x%x of gpu:%d".formatted(handle, device.ordinal());
    }

    /** {@return the device that does the stream's work} */
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

    /** {@return the checks of the uses of memory on this stream, on or off} */
    public StreamChecks checks() {
        return device.checks();
    }

    /** Returns the allocators that have allocated on this stream and are open. */
    List<CudaAllocator> users() {
        return users.open();
    }

    /**
     * Keeps the driver's stream, which a close then waits to destroy, until {@link #endUse}.
     *
     * @return false if the close has begun; there is nothing to end then
     */
    public boolean tryUse() {
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

    /** Ends what {@link #tryUse} began. */
    public void endUse() {
        guard.exit();
    }

    /**
     * Rejects a call that waits for this stream or records an event, if it is being captured or is destroyed. Called
     * while in use.
     *
     * @param call the name of the call
     * @throws CudaException if the driver fails
     */
    void requireReady(String call) {
        if (isView && isKnownToBeCaptured()) {
            throw captured(call); // before the identity is read, which would invalidate the capture
        }
        requireAlive();
        requireNotCaptured(call);
    }

    private void requireAlive() {
        if (!isAlive()) {
            throw new IllegalStateException(describeNative() + ", which " + this
                    + " views, was destroyed by its owner; close the view, and view another stream");
        }
    }

    /** Returns false if this is a view and its owner has destroyed the stream, as far as the driver reports it. */
    private boolean isAlive() {
        if (!isView) {
            return true;
        }
        try {
            return streams.streamGetId(device.ordinal(), handle) == nativeId;
        } catch (CudaException e) {
            if (ForeignStreams.isUnknown(e)) {
                return false;
            }
            throw e;
        }
    }

    /**
     * Rejects a call if this stream is being captured. Called while in use.
     *
     * @param call the name of the call, and what to do
     * @throws CudaException if the driver fails
     */
    void requireNotCaptured(String call) {
        if (isCaptured()) {
            throw captured(call);
        }
    }

    /**
     * Rejects the free of a block of this stream from a pool, if the stream is being captured: the driver would free
     * only what the graph owns. If the driver does not say whether it is, the free goes on.
     */
    void requireFreeable() {
        if (!tryUse()) {
            return;
        }
        try {
            requireNotKnownToBeCaptured("free; free the block, which stays live, after the capture");
        } finally {
            endUse();
        }
    }

    /**
     * Rejects a call if this stream is being captured. If the driver does not say, the call goes on: of a free, a
     * failure of the device would say that it has had its effect, and a wait reports such a failure itself.
     * Called while in use.
     *
     * @param call the name of the call, and what to do
     */
    void requireNotKnownToBeCaptured(String call) {
        if (isKnownToBeCaptured()) {
            throw captured(call);
        }
    }

    /** Returns whether this stream is being captured; false if the driver does not say. Called while in use. */
    boolean isKnownToBeCaptured() {
        try {
            return isCaptured();
        } catch (Throwable e) {
            CudaLog.debug("whether {0} is being captured is unknown: {1}", this, String.valueOf(e.getMessage()));
            return false;
        }
    }

    /**
     * Returns whether this stream is being captured: the only call on a captured stream that does not invalidate the
     * capture. Called while in use.
     */
    private boolean isCaptured() {
        return streams.streamIsCapturing(device.ordinal(), handle);
    }

    private StreamCaptureException captured(String call) {
        return new StreamCaptureException(
                this + ", " + describeNative() + ", is being captured into a graph, so there is no " + call);
    }

    private IllegalStateException closed() {
        return new IllegalStateException(this + " is closed");
    }

    /**
     * {@return whether {@link #close} has begun, so that the stream takes no more calls} Memory allocated on the stream
     * while this returns {@code false} is unbound by the close.
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
            requireAlive();
            requireNotKnownToBeCaptured("flush; end the capture first");
            awaitWork();
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
     * <p>If the driver fails, the stream takes no more calls, and another close tries again; so does the close of the
     * factory. During a capture the stream stays open.
     */
    @Override
    public void close() {
        if (!isIdle && tryUse()) {
            try {
                requireNotKnownToBeCaptured(END);
            } finally {
                endUse();
            }
        }
        guard.close();
        try {
            end.run();
        } finally {
            report();
        }
    }

    @Override
    public void closeIdle() {
        isIdle = isView;
        close();
    }

    private void report() {
        synchronized (guard) {
            if (isReported) {
                return;
            }
            isReported = true;
        }
        try {
            checks().done(checks().point(this)); // also if the device cannot confirm it: no free is rejected for good
            checks().ended(this);
        } finally {
            owner.closed(this);
        }
    }

    /** Waits for the work; of a stream that is destroyed already, for that of the device. */
    private void drain() {
        if (isIdle) {
            return;
        }
        if (isAlive()) {
            requireNotKnownToBeCaptured(END);
            awaitWork();
        } else {
            final StreamChecks.@Nullable StreamPoint point = checks().point(this);
            device.synchronize("wait for the device");
            checks().done(point);
        }
    }

    /** Waits for the work so far; another view of the stream may get more meanwhile. */
    private void awaitWork() {
        final StreamChecks.@Nullable StreamPoint point = checks().point(this);
        streams.streamSynchronize(device.ordinal(), handle);
        checks().done(point);
    }

    /** Drains the native stream, unbinds memory from it and destroys it, as far as that is not done. */
    private void end() {
        synchronized (guard) {
            final DriverCalls.All calls = new DriverCalls.All();
            if (!hasEnded() && calls.insist(this::drain)) {
                setEnded();
            }
            if (!hasEnded()) {
                CudaLog.warning("{0}: its end cannot be confirmed, its memory is set aside until another close", this);
            }
            if (hasEnded() && !isUnbound) {
                isUnbound = calls.attempt(() -> owner.workEnded(this));
            }
            if (hasEnded() && !isDestroyed) {
                isDestroyed = isView || calls.insist(() -> streams.streamDestroy(device.ordinal(), handle));
            }
            calls.throwIfFailed();
        }
    }
}
