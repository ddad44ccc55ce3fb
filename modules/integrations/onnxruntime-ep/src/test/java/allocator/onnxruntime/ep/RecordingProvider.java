package allocator.onnxruntime.ep;

import allocator.cpu.reference.CpuReferenceFactory;
import allocator.spi.Allocator;
import allocator.spi.AllocatorOptions;
import allocator.spi.EpFactory;
import allocator.spi.HostAccessibleAllocator;
import allocator.spi.MemoryInfo;
import allocator.spi.ShrinkReport;
import allocator.spi.ShrinkableAllocator;
import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncStream;
import allocator.testkit.FakeStream;
import allocator.testkit.ForwardingFactory;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Set;

/**
 * A provider that records how a core treats it: a line for each create, release and shrink of an allocator, for each
 * call of a stream, and for each size of an allocation that the step had not before.
 */
final class RecordingProvider extends ForwardingFactory {
    private final List<String> lines = new ArrayList<>();
    private final Set<String> allocations = new HashSet<>();
    private final IdentityHashMap<Allocator, Recorded> wrappers = new IdentityHashMap<>();

    private final boolean hasStreams;
    private final List<SyncStream> streams = new ArrayList<>();

    /** Records {@code cpu-reference}. */
    RecordingProvider() {
        super(new CpuReferenceFactory());
        hasStreams = false;
    }

    /** Records another provider, whose streams are replaced by fake ones. */
    RecordingProvider(EpFactory provider) {
        super(provider);
        hasStreams = true;
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

    @Override
    public synchronized SyncStream createSyncStream(MemoryInfo info) {
        final int number = streams.size();
        add("stream " + number + " of " + info.name());
        final MemoryInfo memory;
        try (SyncStream real = super.createSyncStream(info)) {
            memory = real.memory();
        }
        final SyncStream stream = new FakeStream(memory).before(call -> add("stream " + number + ": " + call));
        streams.add(stream);
        return stream;
    }

    private Recorded record(Allocator target) {
        if (hasStreams && target.as(StreamAwareAllocator.class).isPresent()) {
            return new RecordedOnStreams(target);
        }
        return target.as(ShrinkableAllocator.class).isPresent() ? new RecordedArena(target) : new Recorded(target);
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

    private final class RecordedOnStreams extends RecordedArena implements StreamAwareAllocator {
        RecordedOnStreams(Allocator target) {
            super(target);
        }

        @Override
        public long allocOnStream(long byteSize, SyncStream stream) {
            allocated("alloc " + byteSize + " on stream " + streams.indexOf(stream));
            return ((StreamAwareAllocator) target()).allocOnStream(byteSize, stream);
        }
    }

    private class RecordedArena extends Recorded implements ShrinkableAllocator {
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
