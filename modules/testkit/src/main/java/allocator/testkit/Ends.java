package allocator.testkit;

import java.util.function.Supplier;

/** Ends of one kind: of the stack, or of the heap. */
@FunctionalInterface
public interface Ends {
    /**
     * Calls a new subject at each end, and has it checked.
     *
     * @param name of the call, for messages
     * @param maker makes the subject
     */
    void each(String name, Supplier<? extends StackEnds.Subject> maker);
}
