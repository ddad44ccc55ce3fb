package allocator.bench.gpu;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import allocator.onnxruntime.support.OrtAllocatorLayout;
import allocator.onnxruntime.support.OrtApi;
import allocator.onnxruntime.support.OrtApi.Function;
import allocator.onnxruntime.support.OrtLibrary;
import allocator.spi.AllocatorStats;
import allocator.spi.MemoryInfo;
import allocator.spi.SpiLevel;
import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncStream;
import java.lang.foreign.MemorySegment;
import java.util.Map;

/**
 * The arena of a session of ONNX Runtime, called through the function pointers of its {@code OrtAllocator} as native
 * code calls it, with nothing in between: no check of a free, no status. If it fails to allocate, the process ends.
 *
 * <p>Streams are ignored, for {@code CreateAllocator} hands the arena out without any: its memory is in no order.
 *
 * <p>The calls are plain downcalls. A critical one, which leaves out the JVM's change of state, is for functions that
 * end at once; an arena that extends waits for the driver.
 *
 * @param session {@code 0} for none: then there are no statistics, and nothing to release
 * @param struct the first argument of both functions
 */
record OrtArena(MemoryInfo info, long session, long struct, long alloc, long free) implements StreamAwareAllocator {
    /** Takes over a session and an allocator of it. */
    static OrtArena of(MemoryInfo info, long session, long allocator) {
        final MemorySegment members = OrtApi.view(allocator, OrtAllocatorLayout.BYTE_SIZE);
        return new OrtArena(
                info,
                session,
                allocator,
                members.get(JAVA_LONG, OrtAllocatorLayout.ALLOC),
                members.get(JAVA_LONG, OrtAllocatorLayout.FREE));
    }

    void release() {
        if (session != 0) {
            OrtLibrary.api().release(Function.RELEASE_ALLOCATOR, struct);
            OrtLibrary.api().release(Function.RELEASE_SESSION, session);
        }
    }

    @Override
    public long alloc(long byteSize) {
        if (byteSize == 0) {
            return 0;
        }
        final long address = OrtApi.callMember(alloc, struct, byteSize);
        if (address == 0) {
            throw new IllegalStateException("no block of " + byteSize + " bytes");
        }
        return address;
    }

    @Override
    public long allocOnStream(long byteSize, SyncStream stream) {
        return alloc(byteSize);
    }

    @Override
    public void free(long address) {
        if (address != 0) {
            final long ignored = OrtApi.callMember(free, struct, address);
        }
    }

    @Override
    public int spiLevel() {
        return SpiLevel.CURRENT;
    }

    /** What it has in use and holds; an arena that nothing shrinks never holds less than before. */
    @Override
    public AllocatorStats stats() {
        if (session == 0) {
            return AllocatorStats.NONE;
        }
        final OrtApi api = OrtLibrary.api();
        final Map<String, String> pairs = api.takePairs(api.create(Function.ALLOCATOR_GET_STATS, struct));
        final long inUse = Long.parseLong(pairs.get("InUse"));
        final long held = Long.parseLong(pairs.get("TotalAllocated"));
        return new AllocatorStats.Builder()
                .inUse(inUse, inUse, Long.parseLong(pairs.get("MaxInUse")))
                .held(held, held)
                .calls(Long.parseLong(pairs.get("NumAllocs")), 0, 0, Long.parseLong(pairs.get("MaxAllocSize")))
                .build();
    }
}
