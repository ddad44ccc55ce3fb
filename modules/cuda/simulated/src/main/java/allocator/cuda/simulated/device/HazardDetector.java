package allocator.cuda.simulated.device;

import allocator.cuda.driver.CudaFunction;
import allocator.cuda.simulated.device.StreamQueue.Operation;
import allocator.cuda.simulated.device.StreamQueue.Span;
import allocator.spi.StreamHazardException;
import allocator.spi.StreamHazardException.Kind;
import allocator.spi.StreamHazardException.Site;
import allocator.spi.StreamHazardException.Use;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.function.Supplier;

/** Detects accesses to memory that incomplete operations of other streams access too, with nothing to order them. */
final class HazardDetector {
    private static final String ALLOCATION = CudaFunction.MEM_ALLOC_FROM_POOL_ASYNC.functionName();
    private static final Set<String> FREES =
            Set.of(CudaFunction.MEM_FREE_ASYNC.functionName(), CudaFunction.MEM_UNMAP.functionName());

    private final Streams streams;
    private final List<String> found = new ArrayList<>();

    HazardDetector(Streams streams) {
        this.streams = streams;
    }

    /** Returns the messages of all hazards so far. */
    List<String> found() {
        return found;
    }

    /** Throws if a stream's next operation conflicts with an incomplete, unordered one of another stream. */
    void requireOrdered(StreamQueue queue, Site site, List<Span> accessed) {
        for (StreamQueue other : streams.all()) {
            if (!queue.isOrderedAfter(other, other.submitted)) {
                for (Operation operation : other.waiting) {
                    if (!queue.isOrderedAfter(other, operation.position())) {
                        requireDisjoint(site, accessed, other, operation, () -> "make " + queue + " wait for it");
                    }
                }
            }
        }
    }

    /** Throws if memory is to be taken away that an incomplete operation on any stream accesses. */
    void requireDone(Site site, List<Span> accessed) {
        for (StreamQueue other : streams.all()) {
            for (Operation operation : other.waiting) {
                requireDisjoint(site, accessed, other, operation, () -> "wait for it on the host");
            }
        }
    }

    private void requireDisjoint(
            Site site, List<Span> accessed, StreamQueue other, Operation operation, Supplier<String> howToWait) {
        for (Span mine : accessed) {
            for (Span its : operation.accessed()) {
                final Site earlier = operation.site();
                if (earlier != null && mine.conflictsWith(its)) {
                    throw report(
                            kind(site, earlier),
                            other.device,
                            use(site, mine),
                            use(earlier, its),
                            "Record an event on %s after the earlier one, and %s.".formatted(other, howToWait.get()));
                }
            }
        }
    }

    private static Kind kind(Site later, Site earlier) {
        if (isAnyOf(FREES, later)) {
            return Kind.FREE_IN_USE;
        }
        return isAnyOf(Set.of(ALLOCATION), earlier) ? Kind.USE_BEFORE_READY : Kind.REUSE_IN_FLIGHT;
    }

    private static boolean isAnyOf(Set<String> functions, Site site) {
        return functions.contains(site.name());
    }

    /** Records a use of memory that was freed into a pool, and returns its exception. */
    StreamHazardException usedAfterFree(int device, Site site, Span used, AddressMap.Freed freed) {
        return report(
                Kind.USE_AFTER_FREE,
                device,
                use(site, used),
                new Use(freed.site(), freed.address(), freed.byteSize()),
                "Free memory after the last work that uses it was submitted.");
    }

    private static Use use(Site site, Span span) {
        return new Use(site, span.address(), span.byteSize());
    }

    private StreamHazardException report(Kind kind, int device, Use later, Use earlier, String remedy) {
        final StreamHazardException hazard = new StreamHazardException(kind, "gpu:" + device, later, earlier, remedy);
        found.add(hazard.getMessage());
        return hazard;
    }
}
