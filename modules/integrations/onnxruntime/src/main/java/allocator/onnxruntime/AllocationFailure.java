package allocator.onnxruntime;

import allocator.spi.OutOfMemoryException;
import java.util.Optional;

/**
 * A failed allocation of a session. ONNX Runtime reports only that the allocation failed; this record has the details.
 *
 * @param session the session's name, as given when it was opened
 * @param model the model's name
 * @param byteSize the requested size
 * @param thread the name of the requesting thread
 * @param threadId the identity of that thread
 * @param cause the exception of the allocator
 * @param dump the session's memory at the failure, as text of several lines: session, model, budget, the allocator's
 *     limit, live blocks by size, the allocator's statistics
 */
public record AllocationFailure(
        String session, String model, long byteSize, String thread, long threadId, Throwable cause, String dump) {

    /** {@return the cause, if it is an out-of-memory exception, which has the figures of the failure} */
    public Optional<OutOfMemoryException> outOfMemory() {
        return cause instanceof OutOfMemoryException exhausted ? Optional.of(exhausted) : Optional.empty();
    }
}
