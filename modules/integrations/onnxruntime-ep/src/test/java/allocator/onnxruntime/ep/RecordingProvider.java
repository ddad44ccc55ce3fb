package allocator.onnxruntime.ep;

import allocator.cpu.reference.CpuReferenceFactory;
import allocator.spi.Allocator;
import allocator.spi.AllocatorOptions;
import allocator.spi.HostAccessibleAllocator;
import allocator.spi.MemoryInfo;
import allocator.spi.ShrinkReport;
import allocator.spi.ShrinkableAllocator;
import allocator.testkit.ForwardingFactory;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Set;

/**
 * The provider {@code cpu-reference}, which records how a core treats its allocators: a line for each create, release
 * and shrink, and one for each size of an allocation that the step before did not have.
 */
final class RecordingProvider extends ForwardingFactory {
    private final List<String> lines = new ArrayList<>();
    private final Set<String> allocations = new HashSet<>();
    private final IdentityHashMap<Allocator, Recorded> wrappers = new IdentityHashMap<>();

    RecordingProvider() {
        super(new CpuReferenceFactory());
    }

    /** Begins a step. */
    synchronized void step(String name) {
        lines.add(name);
        allocations.clear();
    }

    synchronized List<String> lines() {
        return List.copyOf(lines);
    }

    private synchronized void add(String line) {
        lines.add("  " + line);
    }

    private synchronized void allocated(String line) {
        if (allocations.add(line)) {
            add(line);
        }
    }

    @Override
    public synchronized Allocator createAllocator(MemoryInfo info, AllocatorOptions options) {
        final Allocator target = super.createAllocator(info, options);
        add("create " + info.name() + " " + options.toMap());
        return wrappers.computeIfAbsent(target, this::record);
    }

    private Recorded record(Allocator target) {
        return target instanceof ShrinkableAllocator ? new RecordedArena(target) : new Recorded(target);
    }

    @Override
    public synchronized void releaseAllocator(Allocator allocator) {
        super.releaseAllocator(((Recorded) allocator).target());
        add("release " + allocator.info().name());
    }

    private class Recorded extends Forwarding implements HostAccessibleAllocator {
        Recorded(Allocator target) {
            super(target);
        }

        @Override
        public long alloc(long byteSize) {
            allocated("alloc " + byteSize);
            return super.alloc(byteSize);
        }

        @Override
        public long reserve(long byteSize) {
            allocated("reserve " + byteSize);
            return super.reserve(byteSize);
        }

        @Override
        public MemorySegment segment(long address, long byteSize) {
            return ((HostAccessibleAllocator) target()).segment(address, byteSize);
        }
    }

    private final class RecordedArena extends Recorded implements ShrinkableAllocator {
        RecordedArena(Allocator target) {
            super(target);
        }

        @Override
        public ShrinkReport shrink() {
            add("shrink " + info().name());
            return ((ShrinkableAllocator) target()).shrink();
        }
    }
}
