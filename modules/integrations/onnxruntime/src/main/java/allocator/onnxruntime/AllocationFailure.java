package allocator.onnxruntime;

import allocator.spi.OutOfMemoryException;
import java.util.Optional;

/**
 * Why an allocator refused what a session asked for. ONNX Runtime only learns that it was refused; this is the rest.
 *
 * @param session the session's name, as given when it was opened
 * @param model the model's name
 * @param byteSize what was asked for
 * @param thread the name of the thread that asked
 * @param threadId that thread's identity
 * @param cause what the allocator threw
 * @param dump the session's memory at that moment, in several lines for a person: session, model, budget, what lives by
 *     size, the allocator's statistics
 */
public record AllocationFailure(
        String session, String model, long byteSize, String thread, long threadId, Throwable cause, String dump) {

    /**
     * The numbers behind the refusal, if it was for lack of memory.
     *
     * @return the cause, if it is an out-of-memory exception
     */
    public Optional<OutOfMemoryException> outOfMemory() {
        return cause instanceof OutOfMemoryException exhausted ? Optional.of(exhausted) : Optional.empty();
    }
}
