package allocator.onnxruntime.ep.capi;

import allocator.onnxruntime.OnnxRuntimeLibrary;
import allocator.onnxruntime.support.OrtAllocatorLayout;
import allocator.onnxruntime.support.OrtApi;
import allocator.spi.AllocatorStats;
import allocator.spi.SpiLevel;
import java.util.Map;

/** An {@code OrtAllocator}, by where it comes from. */
interface CApiHandle {
    /** Returns the {@code OrtAllocator}. */
    long struct();

    /** Returns whether ONNX Runtime can shrink it. */
    boolean shrinks(CApiMemory memory);

    /** Shrinks it. */
    void shrink();

    /**
     * Converts its statistics.
     *
     * @param shortages how many of the caller's requests have failed for lack of memory
     */
    AllocatorStats stats(Map<String, String> pairs, long shortages);

    /** Releases it. */
    void release();

    /**
     * The allocator of a memory that the environment shares: the struct of the provider itself.
     *
     * @param library the provider
     * @param memory its memory
     * @param struct the {@code OrtAllocator}
     */
    record OfEnvironment(CApiLibrary library, CApiMemory memory, long struct) implements CApiHandle {
        @Override
        public boolean shrinks(CApiMemory any) {
            return memory.shrinks();
        }

        @Override
        public void shrink() {
            final long status = CApi.callMember(struct, OrtAllocatorLayout.SHRINK);
            if (status != 0) {
                throw CApi.ort().failure("OrtAllocator::Shrink", status);
            }
        }

        @Override
        public AllocatorStats stats(Map<String, String> pairs, long shortages) {
            return CApiStats.of(pairs);
        }

        @Override
        public void release() {
            library.releaseShared(memory);
        }
    }

    /** An allocator of a session, which ONNX Runtime hands out behind a struct of its own. */
    final class OfSession implements CApiHandle {
        private final CApiSession session;
        private final long struct;
        private final CApiStats.OfSession stats = new CApiStats.OfSession();

        /** Opens the session. */
        OfSession(CApiLibrary library, CApiMemory memory, Map<String, String> options) {
            session = new CApiSession(library, memory, options);
            struct = session.createAllocator();
        }

        @Override
        public long struct() {
            return struct;
        }

        /** A run shrinks arenas of default memory only. */
        @Override
        public boolean shrinks(CApiMemory memory) {
            return memory.shrinks() && memory.isDefault() && OnnxRuntimeLibrary.apiVersion() >= SpiLevel.SHRINK;
        }

        @Override
        public void shrink() {
            session.shrink();
        }

        @Override
        public AllocatorStats stats(Map<String, String> pairs, long shortages) {
            return stats.of(pairs, shortages);
        }

        @Override
        public void release() {
            CApi.ort().release(OrtApi.Function.RELEASE_ALLOCATOR, struct);
            session.close();
        }
    }
}
