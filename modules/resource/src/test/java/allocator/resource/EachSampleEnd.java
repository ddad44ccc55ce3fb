package allocator.resource;

import static allocator.resource.EachEnd.require;

import allocator.resource.leak.LeakTrackingResource;
import allocator.spi.MemoryInfo;
import allocator.testkit.HeapEnds;

/**
 * A call of a new sample of all allocations at each end; a part of {@link EachEnd}. The sample may lack that
 * allocation, but later ones at its address are recorded.
 */
final class EachSampleEnd implements HeapEnds.Subject {
    private static final long BYTES = 100;
    private static final long ADDRESS = 4096;

    /** Memory of one block. */
    private static final class Source implements MemoryResource {
        private static final MemoryInfo MEMORY = new FakeResource(0).memory();

        private boolean isLive;

        @Override
        public MemoryInfo memory() {
            return MEMORY;
        }

        @Override
        public MemoryKind kind() {
            return MemoryKind.DEVICE;
        }

        @Override
        public long allocate(long byteSize, long byteAlignment) {
            isLive = true;
            return ADDRESS;
        }

        @Override
        public void deallocate(long address, long byteSize, long byteAlignment) {
            isLive = false;
        }
    }

    private final Source source = new Source();
    private final LeakTrackingResource sampled = LeakTrackingResource.sampled(source, 1);

    static void run() {
        HeapEnds.each("sample", EachSampleEnd::new);
    }

    @Override
    public void call() {
        sampled.allocate(BYTES);
    }

    @Override
    public void verify(boolean isDone) {
        if (source.isLive) {
            sampled.deallocate(ADDRESS, BYTES);
        }
        sampled.allocate(BYTES);
        require(sampled.report().blocks() == 1, "a block is missing in the sample");
    }
}
