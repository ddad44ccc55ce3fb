package allocator.onnxruntime.ep;

import allocator.cpu.reference.CpuReferenceFactory;
import allocator.spi.Allocator;
import allocator.spi.AllocatorOptions;
import allocator.spi.MemoryInfo;
import allocator.testkit.ForwardingFactory;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/** The provider {@code cpu-reference}, which records what it created. */
class HostProvider extends ForwardingFactory {
    static final String NAME = "cpu-reference";

    /** One creation. */
    record Creation(MemoryInfo info, AllocatorOptions options, Allocator allocator) {}

    private final List<Creation> creations = new CopyOnWriteArrayList<>();
    private final List<Allocator> released = new CopyOnWriteArrayList<>();

    HostProvider() {
        super(new CpuReferenceFactory());
    }

    @Override
    public Allocator createAllocator(MemoryInfo info, AllocatorOptions options) {
        final Allocator allocator = super.createAllocator(info, options);
        creations.add(new Creation(info, options, allocator));
        return allocator;
    }

    @Override
    public void releaseAllocator(Allocator allocator) {
        super.releaseAllocator(allocator);
        released.add(allocator);
    }

    List<Creation> creations() {
        return creations;
    }

    /** The references that are out. */
    int references() {
        return creations.size() - released.size();
    }

    Creation last() {
        return creations.getLast();
    }
}
