package allocator.cuda.simulated.device;

import allocator.cuda.simulated.StreamHazardException;
import allocator.cuda.simulated.device.StreamQueue.Operation;
import allocator.cuda.simulated.device.StreamQueue.Span;
import java.util.ArrayList;
import java.util.List;

/** Detects accesses to memory that incomplete operations of other streams access too, with nothing to order them. */
final class HazardDetector {
    private final Streams streams;
    private final List<String> found = new ArrayList<>();

    HazardDetector(Streams streams) {
        this.streams = streams;
    }

    /** Returns the messages of all hazards so far. */
    List<String> found() {
        return found;
    }

    /**
     * Throws if a stream's next operation conflicts with an incomplete one of another stream, not ordered before it.
     */
    void requireOrdered(StreamQueue queue, String name, List<Span> accessed) {
        for (StreamQueue other : streams.all()) {
            if (other != queue) {
                for (Operation operation : other.waiting) {
                    if (!queue.isOrderedAfter(other, operation.position())) {
                        requireDisjoint(queue.toString(), name, accessed, other, operation);
                    }
                }
            }
        }
    }

    /** Throws if memory is to be taken away that an incomplete operation on any stream accesses. */
    void requireDone(String name, List<Span> accessed) {
        for (StreamQueue other : streams.all()) {
            for (Operation operation : other.waiting) {
                requireDisjoint("the host", name, accessed, other, operation);
            }
        }
    }

    private void requireDisjoint(
            String place, String name, List<Span> accessed, StreamQueue other, Operation operation) {
        for (Span mine : accessed) {
            for (Span its : operation.accessed()) {
                if (mine.conflictsWith(its)) {
                    throw report(("%s on %s accesses %d bytes at %#x, but %s on %s is not complete and accesses"
                                    + " %d bytes at %#x, and nothing orders them")
                            .formatted(
                                    name,
                                    place,
                                    mine.byteSize(),
                                    mine.address(),
                                    operation.name(),
                                    other,
                                    its.byteSize(),
                                    its.address()));
                }
            }
        }
    }

    /** Records a hazard and returns its exception. */
    StreamHazardException report(String message) {
        found.add(message);
        return new StreamHazardException(message);
    }
}
