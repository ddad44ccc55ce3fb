package allocator.resource;

import allocator.provider.support.budget.Budget;
import allocator.resource.budget.BudgetResource;
import allocator.resource.budget.RequestBudgetResource;
import allocator.resource.leak.LeakTrackingResource;
import allocator.spi.AllocatorStats;
import allocator.spi.MemoryInfo;
import allocator.spi.OutOfMemoryException;
import allocator.spi.OutOfMemoryException.Shortage;
import allocator.spi.ShrinkReport;
import allocator.spi.SyncStream;
import allocator.testkit.FakeStream;
import allocator.testkit.HeapEnds;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A program that calls each resource that keeps books with each of its allocations on the Java heap failing. A call
 * that fails has changed nothing.
 */
final class EachEnd {
    private static final long BYTES = 100;
    private static final long ALIGNMENT = 256;

    /** So many entries fill a new table. */
    private static final int FULL = 12;

    private static final SyncStream STREAM = new FakeStream();
    private static final Budget REQUEST = Budget.of("request", Budget.UNLIMITED);

    /** Memory whose calls fail as a whole or not at all. */
    static final class Source implements StreamOrderedMemoryResource {
        private static final MemoryInfo MEMORY = new FakeResource(0).memory();

        int blocks;

        private final boolean hasStats;
        private long next;
        private long bytes;
        private @Nullable RuntimeException failure;

        Source(boolean hasStats) {
            this.hasStats = hasStats;
        }

        @Override
        public MemoryInfo memory() {
            return MEMORY;
        }

        @Override
        public MemoryKind kind() {
            return MemoryKind.DEVICE;
        }

        @Override
        public long allocate(long byteSize, long byteAlignment, SyncStream stream) {
            if (failure != null) {
                throw failure;
            }
            blocks++;
            bytes += byteSize;
            next += 1 << 21; // more than a block takes with its padding
            return next;
        }

        @Override
        public void deallocate(long address, long byteSize, long byteAlignment, SyncStream stream) {
            if (failure != null) {
                throw failure;
            }
            blocks--;
            bytes -= byteSize;
        }

        @Override
        public long allocate(long byteSize, long byteAlignment) {
            return allocate(byteSize, byteAlignment, STREAM);
        }

        @Override
        public void deallocate(long address, long byteSize, long byteAlignment) {
            deallocate(address, byteSize, byteAlignment, STREAM);
        }

        @Override
        public Optional<AllocatorStats> stats() {
            return hasStats
                    ? Optional.of(new AllocatorStats.Builder()
                            .inUse(bytes, bytes, bytes)
                            .held(bytes, bytes)
                            .build())
                    : Optional.empty();
        }
    }

    /** An allocator as a resource, without what {@link AllocatorResource} does. */
    private record Adapter(ResourceAllocator allocator) implements StreamOrderedMemoryResource {
        @Override
        public MemoryInfo memory() {
            return allocator.info();
        }

        @Override
        public MemoryKind kind() {
            return MemoryKind.DEVICE;
        }

        @Override
        public long allocate(long byteSize, long byteAlignment, SyncStream stream) {
            return allocator.allocOnStream(byteSize, stream);
        }

        @Override
        public void deallocate(long address, long byteSize, long byteAlignment, SyncStream stream) {
            allocator.free(address);
        }

        @Override
        public long allocate(long byteSize, long byteAlignment) {
            return allocator.alloc(byteSize);
        }

        @Override
        public void deallocate(long address, long byteSize, long byteAlignment) {
            deallocate(address, byteSize, byteAlignment, STREAM);
        }

        @Override
        public ShrinkReport shrink() {
            return allocator.shrink();
        }
    }

    /** A resource over a source, and the bytes that it takes to be live. */
    private record Books(Source source, StreamOrderedMemoryResource resource, LongSupplier bytes) {}

    /** What is called, and how the source fails. */
    private enum Kind {
        ALLOCATE(null),
        ALLOCATE_BEYOND_THE_TABLE(null),
        ALLOCATE_IN_VAIN(new OutOfMemoryException("no room", Shortage.ofDevice(Source.MEMORY, BYTES, 0))),
        FREE(null),
        FREE_REJECTED(new IllegalStateException("rejected")),
        RETURN_AGAIN(null);

        @SuppressWarnings("ImmutableEnumChecker") // it is thrown, and not changed
        private final @Nullable RuntimeException failure;

        Kind(@Nullable RuntimeException failure) {
            this.failure = failure;
        }

        boolean isFree() {
            return compareTo(FREE) >= 0;
        }
    }

    private EachEnd() {}

    public static void main(String[] args) {
        ScopedValue.where(RequestBudgetResource.CURRENT, REQUEST).run(EachEnd::run);
    }

    private static void run() {
        each("statistics", EachEnd::statistics);
        each("leak tracking", EachEnd::tracked);
        each("sampled leak tracking", EachEnd::sampled);
        each("budget", EachEnd::budget);
        each("budget of a request", EachEnd::request);
        each("alignment", EachEnd::aligned);
        each("fallback", EachEnd::fallback);
        each("allocator", EachEnd::allocator);
        each("resource of an allocator", EachEnd::ofAllocator);
        EachBudgetEnd.run();
        EachSampleEnd.run();
        EachTrackedEnd.run();
    }

    private static void each(String name, Supplier<Books> maker) {
        for (Kind kind : Kind.values()) {
            HeapEnds.each(name + ", " + kind, () -> new Call(maker.get(), kind));
        }
    }

    private static Books statistics() {
        final Source source = new Source(false);
        final StatisticsResource counted = new StatisticsResource(source);
        return new Books(source, counted, () -> counted.statistics().bytes());
    }

    private static Books tracked() {
        final Source source = new Source(false);
        final LeakTrackingResource tracked = LeakTrackingResource.full(source);
        return new Books(source, tracked, () -> tracked.report().bytes());
    }

    /** A sample may lack an allocation. */
    private static Books sampled() {
        final Source source = new Source(false);
        return new Books(source, LeakTrackingResource.sampled(source, 1), () -> source.bytes);
    }

    private static Books budget() {
        final Source source = new Source(false);
        final Budget budget = Budget.of("all", Budget.UNLIMITED).child("one", Budget.UNLIMITED);
        return new Books(
                source,
                new BudgetResource(source, budget),
                () -> budget.status().charge());
    }

    private static Books request() {
        final Source source = new Source(false);
        return new Books(
                source,
                new RequestBudgetResource(source),
                () -> REQUEST.status().charge());
    }

    private static Books aligned() {
        final Source source = new Source(true);
        final AlignedResource aligned = new AlignedResource(source, 1 << 20);
        return new Books(source, aligned, () -> aligned.stats().orElseThrow().requestedBytesInUse());
    }

    private static Books fallback() {
        final Source full = new Source(true);
        full.failure = Kind.ALLOCATE_IN_VAIN.failure;
        final Source source = new Source(false);
        final FallbackResource either = new FallbackResource(full, source);
        return new Books(source, either, () -> either.stats().orElseThrow().bytesInUse());
    }

    private static Books allocator() {
        final Source source = new Source(false);
        final ResourceAllocator allocator = ResourceAllocator.of(source);
        return new Books(source, new Adapter(allocator), () -> allocator.stats().bytesInUse());
    }

    private static Books ofAllocator() {
        final Source source = new Source(false);
        final ResourceAllocator allocator = ResourceAllocator.of(source);
        return new Books(
                source,
                new AllocatorResource(allocator),
                () -> allocator.stats().bytesInUse());
    }

    /** A call of a new resource. */
    private static final class Call implements HeapEnds.Subject {
        private final Books books;
        private final Kind kind;

        /** What the caller has, 0 for nothing. */
        private long address;

        /** What it has besides. */
        private final List<Long> others = new ArrayList<>();

        Call(Books books, Kind kind) {
            this.books = books;
            this.kind = kind;
            if (kind == Kind.ALLOCATE_BEYOND_THE_TABLE) {
                for (int i = 0; i < FULL; i++) {
                    allocate();
                    others.add(address);
                }
                address = 0;
            }
            if (kind.isFree()) {
                allocate();
            }
            if (kind == Kind.RETURN_AGAIN) {
                books.source.failure = Kind.FREE_REJECTED.failure;
                attempt(true);
            }
            books.source.failure = kind.failure;
        }

        private void allocate() {
            address = books.resource.allocate(BYTES, ALIGNMENT, STREAM);
        }

        private void free() {
            books.resource.deallocate(address, BYTES, ALIGNMENT, STREAM);
            address = 0;
        }

        @Override
        public void call() {
            if (kind == Kind.RETURN_AGAIN) {
                books.resource.shrink();
            } else {
                attempt(kind.isFree());
            }
        }

        private void attempt(boolean isFree) {
            try {
                if (isFree) {
                    free();
                } else {
                    allocate();
                }
            } catch (OutOfMemoryException | IllegalStateException e) {
                // As the source does.
            }
        }

        @Override
        public void verify(boolean isDone) {
            returnAll();
            allocate();
            check();
            books.source.failure = Kind.FREE_REJECTED.failure;
            attempt(true);
            returnAll();
            while (!others.isEmpty()) {
                address = others.removeLast();
                free();
            }
        }

        private void returnAll() {
            books.source.failure = null;
            books.resource.shrink();
            check();
            if (address != 0) {
                free();
            }
            check();
        }

        private void check() {
            final int blocks = others.size() + (address == 0 ? 0 : 1);
            final long bytes = books.bytes.getAsLong();
            require(
                    books.source.blocks == blocks && bytes == blocks * BYTES,
                    "the caller has " + blocks + " blocks, " + books.source.blocks + " are out and " + bytes
                            + " bytes in the books");
        }
    }

    static void require(boolean isTrue, Object message) {
        if (!isTrue) {
            throw new AssertionError(message);
        }
    }
}
