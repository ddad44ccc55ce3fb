package allocator.onnxruntime.ep.capi;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import allocator.onnxruntime.support.OrtAllocatorLayout;
import allocator.onnxruntime.support.OrtApi;
import allocator.provider.support.UseGuard;
import allocator.spi.Allocator;
import allocator.spi.AllocatorClosedException;
import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorStats;
import allocator.spi.HostAccessibleAllocator;
import allocator.spi.InvalidSizeException;
import allocator.spi.MemoryInfo;
import allocator.spi.OutOfMemoryException;
import allocator.spi.ShrinkReport;
import allocator.spi.ShrinkableAllocator;
import allocator.spi.SpiLevel;
import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncStream;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.LongSupplier;

/**
 * An {@code OrtAllocator} as an allocator of the contract: each call is one of the C API, or of the struct where the C
 * API has none.
 */
class CApiAllocator implements Allocator {
    private final CApiLibrary library;
    private final CApiMemory memory;
    private final AllocatorOptions options;
    private final CApiHandle handle;
    private final long struct;
    private final int level;
    private final UseGuard guard = new UseGuard();
    /** What is live, by address: the bytes of a reserve, 0 of another block. */
    private final Map<Long, Long> live = new ConcurrentHashMap<>();

    private final LongAdder shortages = new LongAdder();

    /**
     * Takes over a handle.
     *
     * @param options the settings with which it was created
     */
    private CApiAllocator(CApiLibrary library, CApiMemory memory, AllocatorOptions options, CApiHandle handle) {
        this.library = library;
        this.memory = memory;
        this.options = options;
        this.handle = handle;
        struct = handle.struct();
        level = Math.min(
                OrtApi.view(struct, OrtAllocatorLayout.BYTE_SIZE).get(JAVA_INT, OrtAllocatorLayout.VERSION),
                SpiLevel.CURRENT);
    }

    private long used(LongSupplier use) {
        guard.enter(this);
        try {
            return library.errors().get(use);
        } finally {
            guard.exit();
        }
    }

    private long taken(long byteSize, long reserved, LongSupplier call) {
        // ONNX Runtime takes the null pointer for a failure.
        final long address;
        try {
            address = used(byteSize == 0 ? () -> 0 : call);
        } catch (OutOfMemoryException e) {
            shortages.increment();
            throw e;
        }
        if (address != 0) {
            live.put(address, reserved);
        } else if (byteSize != 0) {
            throw new IllegalStateException("null for " + byteSize + " bytes, without a failure");
        }
        return address;
    }

    @Override
    public final long alloc(long byteSize) {
        return taken(byteSize, 0, () -> {
            try (Arena scratch = Arena.ofConfined()) {
                final MemorySegment out = scratch.allocate(JAVA_LONG);
                final long status = CApi.ort().allocatorAlloc(struct, byteSize, out.address());
                if (status != 0) {
                    throw CApi.ort().failure(OrtApi.Function.ALLOCATOR_ALLOC, status);
                }
                return out.get(JAVA_LONG, 0);
            }
        });
    }

    @Override
    public final long reserve(long byteSize) {
        return taken(byteSize, byteSize, () -> CApi.callMember(struct, OrtAllocatorLayout.RESERVE, byteSize));
    }

    /** For subclasses that have streams. */
    public final long allocOnStream(long byteSize, SyncStream stream) {
        if (!(stream instanceof CApiStream own)) {
            throw new IllegalArgumentException(stream + " is not of ONNX Runtime");
        }
        return taken(
                byteSize,
                0,
                () -> own.use(
                        ortStream -> CApi.callMember(struct, OrtAllocatorLayout.ALLOC_ON_STREAM, byteSize, ortStream)));
    }

    @Override
    public final void free(long address) {
        final Long reserved = address == 0 ? null : live.remove(address);
        boolean isFreed = false;
        try {
            final long ignored = used(() -> {
                if (address != 0) {
                    CApi.ort().call(OrtApi.Function.ALLOCATOR_FREE, struct, address);
                }
                return 0;
            });
            isFreed = true;
        } finally {
            if (reserved != null && !isFreed) {
                live.put(address, reserved);
            }
        }
    }

    @Override
    public final MemoryInfo info() {
        return memory.info();
    }

    @Override
    public final int spiLevel() {
        return level;
    }

    @Override
    public final AllocatorStats stats() {
        final AllocatorStats[] stats = new AllocatorStats[1];
        final long ignored = used(() -> {
            stats[0] = handle.stats(
                    CApi.ort().takePairs(CApi.ort().create(OrtApi.Function.ALLOCATOR_GET_STATS, struct)),
                    shortages.sum());
            return 0;
        });
        return stats[0];
    }

    /** Returns the settings that were asked for: the C API does not say which are effective. */
    @Override
    public final AllocatorOptions effectiveOptions() {
        return options;
    }

    /** For subclasses that can shrink. The C API has no report, so it is what the statistics show. */
    public final ShrinkReport shrink() {
        guard.enter(this);
        try {
            final AllocatorStats before = stats();
            library.errors().run(handle::shrink);
            final AllocatorStats after = stats();
            final int regions = (int) after.numArenaExtensions();
            final long reserved =
                    live.values().stream().mapToLong(Long::longValue).sum();
            final boolean isInUse = after.bytesInUse() > reserved;
            return new ShrinkReport(
                    Math.max(0, before.bytesHeld() - after.bytesHeld()),
                    (int) (after.numArenaShrinkages() - before.numArenaShrinkages()),
                    after.bytesHeld(),
                    isInUse ? regions : 0,
                    isInUse ? 0 : regions);
        } finally {
            guard.exit();
        }
    }

    /** For subclasses whose memory the host reaches. */
    public final MemorySegment segment(long address, long byteSize) {
        if (guard.isClosed()) {
            throw new AllocatorClosedException(this + " is released");
        }
        if (byteSize < 0 || (address == 0 && byteSize != 0)) {
            throw new InvalidSizeException(byteSize, "is not the size of a part of the allocation");
        }
        return OrtApi.view(address, byteSize);
    }

    /** Waits for the calls that are inside, frees what is live, and releases the handle. */
    final void release() {
        final boolean ignored = guard.close();
        for (final long address : live.keySet()) {
            library.errors().run(() -> CApi.ort().call(OrtApi.Function.ALLOCATOR_FREE, struct, address));
        }
        live.clear();
        library.errors().run(handle::release);
    }

    @Override
    public String toString() {
        return "OrtAllocator 0x" + Long.toHexString(struct) + " of " + memory.info();
    }

    /** Makes an allocator of the type that its memory has. */
    static CApiAllocator of(CApiLibrary library, CApiMemory memory, AllocatorOptions options, CApiHandle handle) {
        final boolean isHost = memory.isHost();
        if (!handle.shrinks(memory)) {
            return isHost
                    ? new Host(library, memory, options, handle)
                    : new CApiAllocator(library, memory, options, handle);
        }
        if (!memory.hasStreams()) {
            return new HostArena(library, memory, options, handle);
        }
        return isHost
                ? new HostStreamArena(library, memory, options, handle)
                : new StreamArena(library, memory, options, handle);
    }

    /** Of memory that the host reaches. */
    private static final class Host extends CApiAllocator implements HostAccessibleAllocator {
        Host(CApiLibrary library, CApiMemory memory, AllocatorOptions options, CApiHandle handle) {
            super(library, memory, options, handle);
        }
    }

    /** An arena of memory that the host reaches. */
    private static final class HostArena extends CApiAllocator implements HostAccessibleAllocator, ShrinkableAllocator {
        HostArena(CApiLibrary library, CApiMemory memory, AllocatorOptions options, CApiHandle handle) {
            super(library, memory, options, handle);
        }
    }

    /** An arena with streams. */
    private static final class StreamArena extends CApiAllocator implements StreamAwareAllocator, ShrinkableAllocator {
        StreamArena(CApiLibrary library, CApiMemory memory, AllocatorOptions options, CApiHandle handle) {
            super(library, memory, options, handle);
        }
    }

    /** An arena with streams, of memory that the host reaches. */
    private static final class HostStreamArena extends CApiAllocator
            implements HostAccessibleAllocator, StreamAwareAllocator, ShrinkableAllocator {
        HostStreamArena(CApiLibrary library, CApiMemory memory, AllocatorOptions options, CApiHandle handle) {
            super(library, memory, options, handle);
        }
    }
}
