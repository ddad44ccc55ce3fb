package allocator.cpu.reference;

import allocator.provider.support.platform.Platform;
import allocator.spi.AllocatorException;
import allocator.spi.MemoryInfo;
import allocator.spi.UnsupportedMemoryException;
import org.jspecify.annotations.Nullable;

/** Where host memory comes from: {@link HostHeap}, but for tests. */
interface Heap {
    /** The C library's memory, which is looked up when the first allocator is created (F-01). */
    Heap NATIVE = new Heap() {
        @Override
        public void prepare() {
            HostHeap.prepare();
        }

        @Override
        public long allocate(long byteAlignment, long byteSize) {
            return HostHeap.allocate(byteAlignment, byteSize);
        }

        @Override
        public SharedPages share(MemoryInfo info, @Nullable CopyLinks links) {
            return new SharedPages(HostPages.nativeCalls(Platform.current()), info, ProcessMappings.PROCESS, links);
        }

        @Override
        public String shortage(long byteSize) {
            return HostHeap.shortage(byteSize);
        }

        @Override
        public void free(long address, long byteSize) {
            HostHeap.free(address, byteSize);
        }
    };

    /**
     * Returns what gives blocks of {@link allocator.spi.PagedReserves#LEAST_BYTES} or more one copy.
     *
     * @param links by which blocks of other processes have it too; {@code null} if they are not to
     * @throws AllocatorException if the system cannot do it
     */
    default SharedPages share(MemoryInfo info, @Nullable CopyLinks links) {
        throw new UnsupportedMemoryException("this memory of " + info + " is not mapped, and cannot be shared");
    }

    /** Called when an allocator is created, so that the first allocation needs no more of the JDK than later ones. */
    default void prepare() {}

    /** The address of {@code byteSize} bytes, a multiple of the alignment; {@code 0} if there is no memory. */
    long allocate(long byteAlignment, long byteSize);

    /** Says why {@link #allocate} returned no memory of a size. */
    default String shortage(long byteSize) {
        return "it has no memory";
    }

    /** Gives back what {@link #allocate} returned for {@code byteSize} bytes. If it throws, the memory is not back. */
    void free(long address, long byteSize);
}
