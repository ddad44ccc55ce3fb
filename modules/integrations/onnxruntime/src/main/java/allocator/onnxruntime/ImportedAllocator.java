package allocator.onnxruntime;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import allocator.onnxruntime.NativeEnvironment.SessionAllocator;
import allocator.onnxruntime.OrtApi.Function;
import allocator.spi.AllocatorClosedException;
import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorStats;
import allocator.spi.DoubleFreeException;
import allocator.spi.ForeignAddressException;
import allocator.spi.HostAccessibleAllocator;
import allocator.spi.InvalidSizeException;
import allocator.spi.MemoryInfo;
import allocator.spi.OutOfMemoryException;
import allocator.spi.OutOfMemoryException.Shortage;
import allocator.spi.SpiLevel;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/**
 * An allocator of ONNX Runtime's, called through its C API: {@code AllocatorAlloc}, {@code AllocatorFree},
 * {@code AllocatorGetStats}, and the struct's {@code Reserve}.
 *
 * <p>ONNX Runtime's arena crashes the process on a foreign address and frees a chunk by an address inside it. By
 * default this class therefore records which addresses are live, and rejects all others before they reach ONNX Runtime.
 */
final class ImportedAllocator implements HostAccessibleAllocator {
    /** Sizes above this are rejected here: ONNX Runtime rounds up without a check for overflow. */
    private static final long MAX_SIZE = Long.MAX_VALUE - 255;

    /** Where a call of this thread puts its result: eight bytes of native memory. */
    private static final ThreadLocal<MemorySegment> OUT =
            ThreadLocal.withInitial(() -> Arena.ofAuto().allocate(JAVA_LONG));

    private final NativeEnvironment environment;
    private final OrtApi api;
    private final @Nullable SessionAllocator session;
    private final long allocator;
    private final AllocatorOptions options;
    private final @Nullable Set<Long> live;
    private final LongAdder failed = new LongAdder();
    private final AtomicBoolean closed = new AtomicBoolean();

    /**
     * Takes an allocator over.
     *
     * @param session what keeps the allocator alive, to be released with it; {@code null} if it is never released
     * @param checksFrees whether frees are checked here
     */
    ImportedAllocator(
            NativeEnvironment environment,
            @Nullable SessionAllocator session,
            long allocator,
            boolean checksFrees,
            AllocatorOptions options) {
        this.environment = environment;
        this.api = environment.api();
        this.session = session;
        this.allocator = allocator;
        this.options = options;
        live = checksFrees ? ConcurrentHashMap.newKeySet() : null;
    }

    @Override
    public long alloc(long byteSize) {
        requireUsable(byteSize);
        if (byteSize == 0) {
            return 0;
        }
        final MemorySegment out = OUT.get();
        final long status = api.allocatorAlloc(allocator, byteSize, out.address());
        if (status != 0) {
            throw exhausted(byteSize, api.failure(Function.ALLOCATOR_ALLOC, status));
        }
        return remember(out.get(JAVA_LONG, 0), byteSize);
    }

    @Override
    public long reserve(long byteSize) {
        requireUsable(byteSize);
        if (byteSize == 0) {
            return 0;
        }
        final MemorySegment struct = OrtApi.view(allocator, OrtAllocatorLayout.BYTE_SIZE);
        final long reserve = struct.get(JAVA_LONG, OrtAllocatorLayout.RESERVE);
        if (struct.get(JAVA_INT, OrtAllocatorLayout.VERSION) < SpiLevel.RESERVE || reserve == 0) {
            return alloc(byteSize);
        }
        // Reserve has no status: where the system has no memory, a C++ exception would leave it and end the process.
        if (!SystemMemory.canAllocate(byteSize)) {
            throw exhausted(byteSize, null);
        }
        return remember(OrtApi.callMember(reserve, allocator, byteSize), byteSize);
    }

    private void requireUsable(long byteSize) {
        if (closed.get()) {
            throw closed();
        }
        if (byteSize < 0) {
            throw InvalidSizeException.negative(byteSize);
        }
        if (byteSize > MAX_SIZE) {
            throw InvalidSizeException.overflow(byteSize, 256);
        }
    }

    private long remember(long address, long byteSize) {
        if (address == 0) {
            throw exhausted(byteSize, null);
        }
        if (live != null) {
            live.add(address);
        }
        return address;
    }

    private OutOfMemoryException exhausted(long byteSize, @Nullable OnnxRuntimeException cause) {
        failed.increment();
        final AllocatorStats stats = stats();
        return new OutOfMemoryException(
                cause == null ? "ONNX Runtime has no memory" : cause.reason(),
                new Shortage(
                        info(),
                        byteSize,
                        byteSize,
                        stats.limit(),
                        stats.bytesInUse(),
                        stats.bytesHeld(),
                        OutOfMemoryException.UNKNOWN,
                        OutOfMemoryException.UNKNOWN),
                "",
                cause);
    }

    @Override
    public void free(long address) {
        if (closed.get()) {
            throw closed();
        }
        if (address == 0) {
            return;
        }
        if (live != null && !live.remove(address)) {
            throw new ForeignAddressException(address, "not a live allocation of ONNX Runtime's allocator");
        }
        final long status = api.allocatorFree(allocator, address);
        if (status != 0) {
            throw new DoubleFreeException(
                    address, api.failure(Function.ALLOCATOR_FREE, status).reason());
        }
    }

    @Override
    public MemorySegment segment(long address, long byteSize) {
        if (byteSize < 0 || (address == 0 && byteSize != 0)) {
            throw new InvalidSizeException(byteSize, "is not the size of a part of the allocation");
        }
        return OrtApi.view(address, byteSize);
    }

    @Override
    public MemoryInfo info() {
        return NativeEnvironment.CPU;
    }

    @Override
    public int spiLevel() {
        return SpiLevel.STATISTICS;
    }

    @Override
    public AllocatorStats stats() {
        if (closed.get()) {
            throw closed();
        }
        return toStats(api.takePairs(api.create(Function.ALLOCATOR_GET_STATS, allocator)), failed.sum());
    }

    /** Converts ONNX Runtime's pairs. What it does not count is derived, or 0. */
    static AllocatorStats toStats(Map<String, String> pairs, long failed) {
        final long inUse = number(pairs, "InUse", 0);
        final long held = number(pairs, "TotalAllocated", 0);
        return new AllocatorStats.Builder()
                .limit(number(pairs, "Limit", AllocatorStats.UNLIMITED))
                .inUse(inUse, number(pairs, "RequestedInUse", inUse), number(pairs, "MaxInUse", 0))
                .held(held, held)
                .free(Math.max(0, held - inUse), 0)
                .calls(
                        number(pairs, "NumAllocs", 0),
                        number(pairs, "NumReserves", 0),
                        failed,
                        number(pairs, "MaxAllocSize", 0))
                .regions(number(pairs, "NumArenaExtensions", 0), number(pairs, "NumArenaShrinkages", 0))
                .build();
    }

    private static long number(Map<String, String> pairs, String key, long otherwise) {
        final String text = pairs.get(key);
        return text == null ? otherwise : Long.parseLong(text);
    }

    @Override
    public AllocatorOptions effectiveOptions() {
        return options;
    }

    /** Releases the allocator. A second call does nothing. */
    void close() {
        if (closed.compareAndSet(false, true) && session != null) {
            environment.release(session);
        }
    }

    private static AllocatorClosedException closed() {
        return new AllocatorClosedException("the allocator of ONNX Runtime is released");
    }
}
