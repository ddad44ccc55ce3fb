package allocator.runtime.transfer;

import allocator.provider.support.internal.Failures;
import allocator.spi.Allocator;
import allocator.spi.AllocatorType;
import allocator.spi.DeviceType;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryLocation;
import allocator.spi.MemoryRange;
import allocator.spi.MemoryType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/** Memory of the host in which the pieces of a copy lie on their way: pinned memory of a device, or any other. */
public interface StagingMemory {
    /** Memory of the host that no provider manages, which every {@link allocator.spi.DataTransfer} knows as such. */
    StagingMemory HOST = new StagingMemory() {
        private static final long BYTE_ALIGNMENT = 64;

        private final MemoryInfo info = new MemoryInfo(
                "Host",
                new MemoryLocation(DeviceType.CPU, 0, 0, MemoryType.DEFAULT),
                BYTE_ALIGNMENT,
                AllocatorType.DEVICE);

        @Override
        public MemoryInfo info() {
            return info;
        }

        @Override
        public Buffer allocate(long byteSize) {
            final Arena arena = Arena.ofShared(); // another thread may free what a stream has kept
            try {
                return new Buffer(info, arena.allocate(byteSize, BYTE_ALIGNMENT), arena::close);
            } catch (Throwable e) {
                arena.close();
                throw e;
            }
        }
    };

    /** How the host sees a block of an allocator. */
    @FunctionalInterface
    interface View {
        /** {@return a block as a segment} */
        MemorySegment segment(long address, long byteSize);
    }

    /**
     * {@return memory of an allocator that the host can reach}
     *
     * @param view how the host sees its blocks
     */
    static StagingMemory of(Allocator allocator, View view) {
        return new StagingMemory() {
            @Override
            public MemoryInfo info() {
                return allocator.info();
            }

            @Override
            public Buffer allocate(long byteSize) {
                final long address = allocator.alloc(byteSize);
                try {
                    return new Buffer(info(), view.segment(address, byteSize), () -> allocator.free(address));
                } catch (Throwable e) {
                    try {
                        allocator.free(address);
                    } catch (Throwable again) {
                        Failures.suppress(e, again);
                    }
                    throw e;
                }
            }
        };
    }

    /** {@return what the memory is} */
    MemoryInfo info();

    /**
     * Allocates a buffer, to be closed by any thread.
     *
     * @param byteSize size in bytes, above zero
     */
    Buffer allocate(long byteSize);

    /** A buffer. */
    record Buffer(MemoryInfo memory, MemorySegment segment, Runnable release) implements AutoCloseable {
        MemoryRange range(long byteSize) {
            return new MemoryRange(memory, segment.address(), byteSize);
        }

        @Override
        public void close() {
            release.run();
        }
    }
}
