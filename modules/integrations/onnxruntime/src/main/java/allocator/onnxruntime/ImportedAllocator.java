package allocator.onnxruntime;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import allocator.onnxruntime.NativeEnvironment.SessionAllocator;
import allocator.onnxruntime.block.BlockSizes;
import allocator.onnxruntime.support.OrtAllocatorLayout;
import allocator.onnxruntime.support.OrtApi;
import allocator.onnxruntime.support.OrtApi.Function;
import allocator.onnxruntime.support.SystemMemory;
import allocator.provider.support.UseGuard;
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
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/**
 * An allocator of ONNX Runtime's, called through its C API: {@code AllocatorAlloc}, {@code AllocatorFree},
 * {@code AllocatorGetStats}, and the struct's {@code Reserve}.
 *
 * <p>ONNX Runtime's arena crashes the process on a foreign address and frees a chunk by an address inside it. By
 * default this class therefore records which addresses are live, and rejects all others before they reach ONNX Runtime.
 *
 * <p>A block that cannot be recorded, for want of heap, goes back at once.
 *
 * <p>Calls that use ONNX Runtime's allocator are counted, and {@link #close} waits for those that are inside.
 */
final class ImportedAllocator implements HostAccessibleAllocator {
    /** Sizes above this are rejected here: ONNX Runtime rounds up without a check for overflow. */
    private static final long MAX_SIZE = Long.MAX_VALUE - 255;

    /** The methods that call ONNX Runtime's allocator, and may so be below a close on the stack of its thread. */
    private static final Set<String> CALLS = Set.of("alloc", "reserve", "free", "stats");

    /** Where ONNX Runtime puts the address of this thread's next block. */
    private static final ThreadLocal<MemorySegment> OUT =
            ThreadLocal.withInitial(() -> Arena.ofAuto().allocate(JAVA_LONG));

    private final NativeEnvironment environment;
    private final OrtApi api;
    private final @Nullable SessionAllocator session;
    private final long allocator;
    private final AllocatorOptions options;
    private final @Nullable BlockSizes live;
    private final LongAdder failed = new LongAdder();
    private final UseGuard guard = new UseGuard();

    /** Whether a close has come to its end. Guarded by this. */
    private boolean isReleased;

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
        live = checksFrees ? new BlockSizes() : null;
    }

    @Override
    public long alloc(long byteSize) {
        enter();
        try {
            requireValid(byteSize);
            return byteSize == 0 ? 0 : allocate(byteSize);
        } finally {
            guard.exit();
        }
    }

    private long allocate(long byteSize) {
        final MemorySegment out = OUT.get();
        final long status = api.allocatorAlloc(allocator, byteSize, out.address());
        if (status != 0) {
            throw exhausted(byteSize, api.failure(Function.ALLOCATOR_ALLOC, status));
        }
        return recorded(out.get(JAVA_LONG, 0), byteSize);
    }

    @Override
    public long reserve(long byteSize) {
        enter();
        try {
            requireValid(byteSize);
            return byteSize == 0 ? 0 : takeReserve(byteSize);
        } finally {
            guard.exit();
        }
    }

    private long takeReserve(long byteSize) {
        final MemorySegment struct = OrtApi.view(allocator, OrtAllocatorLayout.BYTE_SIZE);
        final long reserve = struct.get(JAVA_LONG, OrtAllocatorLayout.RESERVE);
        if (struct.get(JAVA_INT, OrtAllocatorLayout.VERSION) < SpiLevel.RESERVE || reserve == 0) {
            return allocate(byteSize);
        }
        // Reserve has no status: where the system has no memory, a C++ exception would leave it and end the process.
        if (!SystemMemory.canAllocate(byteSize)) {
            throw exhausted(byteSize, null);
        }
        return recorded(OrtApi.callMember(reserve, allocator, byteSize), byteSize);
    }

    private void enter() {
        if (!guard.tryEnter()) {
            throw closed();
        }
    }

    private static void requireValid(long byteSize) {
        if (byteSize < 0) {
            throw InvalidSizeException.negative(byteSize);
        }
        if (byteSize > MAX_SIZE) {
            throw InvalidSizeException.overflow(byteSize, 256);
        }
    }

    private long recorded(long address, long byteSize) {
        if (address == 0) {
            throw exhausted(byteSize, null);
        }
        if (live != null) {
            try {
                live.put(address, byteSize);
            } catch (Throwable e) {
                api.release(Function.RELEASE_STATUS, api.allocatorFree(allocator, address));
                throw e;
            }
        }
        return address;
    }

    private OutOfMemoryException exhausted(long byteSize, @Nullable OnnxRuntimeException cause) {
        failed.increment();
        final Map<String, String> pairs = currentPairs();
        final AllocatorStats stats = toStats(pairs, failed.sum());
        return new OutOfMemoryException(
                cause == null ? "ONNX Runtime has no memory" : cause.reason(),
                new Shortage(
                        info(),
                        byteSize,
                        byteSize,
                        number(pairs, "Limit", OutOfMemoryException.UNKNOWN),
                        stats.bytesInUse(),
                        stats.bytesHeld(),
                        OutOfMemoryException.UNKNOWN,
                        OutOfMemoryException.UNKNOWN),
                "",
                cause);
    }

    @Override
    public void free(long address) {
        enter();
        try {
            if (address != 0) {
                giveBack(address);
            }
        } finally {
            guard.exit();
        }
    }

    private void giveBack(long address) {
        final long byteSize = live == null ? 0 : live.remove(address);
        if (byteSize == BlockSizes.NONE) {
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
        if (guard.isClosed()) {
            throw closed();
        }
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
        enter();
        try {
            return toStats(currentPairs(), failed.sum());
        } finally {
            guard.exit();
        }
    }

    private Map<String, String> currentPairs() {
        return api.takePairs(api.create(Function.ALLOCATOR_GET_STATS, allocator));
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

    /**
     * Releases the allocator: calls are rejected from here on, those under way are waited for. If it fails, calls stay
     * rejected, and another close tries again.
     *
     * @return whether this call released it, rather than an earlier one
     * @throws IllegalStateException if this thread is inside a call of one of these allocators, and might so wait for
     *     itself; nothing changes
     */
    boolean close() {
        requireOutside();
        guard.close();
        synchronized (this) {
            if (isReleased) {
                return false;
            }
            if (session != null) {
                environment.release(session);
            }
            isReleased = true;
            return true;
        }
    }

    /** ONNX Runtime calls back where an allocator of Java is beneath its own. */
    private static void requireOutside() {
        final String self = ImportedAllocator.class.getName();
        final boolean isInside = StackWalker.getInstance()
                .walk(frames -> frames.anyMatch(
                        frame -> CALLS.contains(frame.getMethodName()) && self.equals(frame.getClassName())));
        if (isInside) {
            throw new IllegalStateException(
                    "an allocator of ONNX Runtime cannot be released from within a call of one; release it afterwards");
        }
    }

    private static AllocatorClosedException closed() {
        return new AllocatorClosedException("the allocator of ONNX Runtime is released");
    }
}
