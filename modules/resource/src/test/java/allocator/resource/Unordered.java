package allocator.resource;

import allocator.spi.MemoryInfo;
import allocator.spi.ShrinkReport;
import java.util.List;

/** A resource without its order on streams. */
record Unordered(MemoryResource ordered) implements MemoryResource {
    @Override
    public MemoryInfo memory() {
        return ordered.memory();
    }

    @Override
    public MemoryKind kind() {
        return ordered.kind();
    }

    @Override
    public long allocate(long byteSize, long byteAlignment) {
        return ordered.allocate(byteSize, byteAlignment);
    }

    @Override
    public long reserve(long byteSize, long byteAlignment) {
        return ordered.reserve(byteSize, byteAlignment);
    }

    @Override
    public void deallocate(long address, long byteSize, long byteAlignment) {
        ordered.deallocate(address, byteSize, byteAlignment);
    }

    @Override
    public ShrinkReport shrink() {
        return ordered.shrink();
    }

    @Override
    public List<MemoryResource> upstreams() {
        return List.of(ordered);
    }
}
