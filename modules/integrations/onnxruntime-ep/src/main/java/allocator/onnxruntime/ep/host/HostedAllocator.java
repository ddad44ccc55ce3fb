package allocator.onnxruntime.ep.host;

import allocator.onnxruntime.ep.abi.EpApi;
import allocator.onnxruntime.ep.abi.FailureSink;
import allocator.onnxruntime.ep.abi.Hosted;
import allocator.onnxruntime.support.ThrowingThunk;
import allocator.spi.Allocator;
import allocator.spi.InvalidFreeException;
import allocator.spi.InvalidSizeException;
import allocator.spi.ShrinkableAllocator;
import allocator.spi.SpiLevel;
import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncStream;
import java.util.concurrent.atomic.AtomicLong;

/**
 * One reference to an allocator of a provider, as ONNX Runtime sees it.
 *
 * <p>A failed allocation is reported and returns null. The reference goes back to the provider once ONNX Runtime has
 * released it and no block is live.
 */
final class HostedAllocator implements Hosted {
    private final HostedFactory factory;
    private final DeviceMemory memory;
    private final Allocator target;
    private final int level;
    private final boolean isOfSession;
    private final AtomicLong live = new AtomicLong();
    private final long struct;

    private volatile boolean isReleased;
    private boolean isReturned;

    /**
     * Takes over a reference.
     *
     * @param target what the provider created for {@code memory}
     * @param isOfSession whether a session gets it, not the environment
     */
    HostedAllocator(HostedFactory factory, DeviceMemory memory, HostedFactory.Target target, boolean isOfSession) {
        this.factory = factory;
        this.memory = memory;
        this.target = target.allocator();
        level = target.level();
        this.isOfSession = isOfSession;
        // Last, as it publishes this object to native code.
        struct = AllocatorStruct.add(this);
    }

    @Override
    public FailureSink failures() {
        return factory.failures();
    }

    /** Returns the address of the {@code OrtAllocator}. */
    long struct() {
        return struct;
    }

    Allocator target() {
        return target;
    }

    DeviceMemory memory() {
        return memory;
    }

    String provider() {
        return factory.name();
    }

    boolean isOfSession() {
        return isOfSession;
    }

    /** The version of {@code OrtAllocator} that says what the allocator can do: its level, as far as it is known. */
    int version() {
        return Math.min(Math.min(level, SpiLevel.CURRENT), EpApi.get().version());
    }

    /** Allocates a block. Returns its address, or 0 after it has reported the failure. Never throws. */
    long alloc(String callback, long byteSize, boolean isReserve, long ortStream) {
        if (byteSize == 0) {
            return ThrowingThunk.EMPTY;
        }
        try {
            if (byteSize < 0) {
                // A size_t above the largest long.
                throw InvalidSizeException.negative(byteSize);
            }
            return counted(take(byteSize, isReserve, ortStream), byteSize);
        } catch (Throwable e) {
            final String ignored = failures().report(callback, e);
            return 0;
        }
    }

    private long take(long byteSize, boolean isReserve, long ortStream) {
        if (isReserve) {
            return target.reserve(byteSize);
        }
        final SyncStream stream = ortStream == 0 ? null : StreamStruct.streamOf(ortStream);
        return stream != null
                        && target.as(StreamAwareAllocator.class).orElse(null)
                                instanceof StreamAwareAllocator streamAware
                ? streamAware.allocOnStream(byteSize, stream)
                : target.alloc(byteSize);
    }

    private long counted(long address, long byteSize) {
        if (address == 0 || address % memory.info().byteAlignment() != 0) {
            if (address != 0) {
                target.free(address);
            }
            throw new IllegalStateException("the allocator returned 0x" + Long.toHexString(address) + " for " + byteSize
                    + " bytes; a block begins at a multiple of "
                    + memory.info().byteAlignment());
        }
        live.incrementAndGet();
        factory.uses().liveBlocks().incrementAndGet();
        return address;
    }

    /** Frees a block that ONNX Runtime has no more use of. A failure is reported. */
    void free(long address) {
        if (address == 0 || address == ThrowingThunk.EMPTY) {
            return;
        }
        boolean isForeign = false;
        try {
            target.free(address);
        } catch (Throwable e) {
            isForeign = e instanceof InvalidFreeException;
            final String ignored = failures().report("OrtAllocator::Free", e);
        }
        if (!isForeign) {
            ended();
        }
    }

    private void ended() {
        live.decrementAndGet();
        factory.uses().liveBlocks().decrementAndGet();
        if (isReleased) {
            retryReturn();
        }
    }

    /** Returns the reference if no block is in the way any more. A failure is reported. */
    void retry() {
        if (isReleased) {
            retryReturn();
        }
    }

    private void retryReturn() {
        try {
            returnIfUnused();
        } catch (Throwable e) {
            final String ignored = failures().report("OrtEpFactory::ReleaseAllocator", e);
        }
    }

    /** Returns unused memory to the device. */
    void shrink() {
        if (target.as(ShrinkableAllocator.class).orElse(null) instanceof ShrinkableAllocator shrinkable) {
            shrinkable.shrink();
        }
    }

    /** ONNX Runtime needs it no more. The reference goes back to the provider as soon as no block is live. */
    void release() {
        isReleased = true;
        returnIfUnused();
    }

    private void returnIfUnused() {
        synchronized (this) {
            if (isReturned || live.get() != 0) {
                return;
            }
            isReturned = true;
        }
        AllocatorStruct.remove(struct);
        factory.returned(this);
    }
}
