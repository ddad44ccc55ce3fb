package allocator.arrow.dropin.program;

import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;

/** Requires that the first two allocations fail with one line. Arguments: texts in that line. */
public final class Rejected {
    private Rejected() {}

    /** Runs it. */
    public static void main(String[] args) {
        try (BufferAllocator root = new RootAllocator()) {
            for (int i = 0; i < 2; i++) {
                final String message = failure(root);
                for (final String text : args) {
                    if (!message.contains(text)) {
                        throw new AssertionError("'" + text + "' is not in: " + message);
                    }
                }
                if (!message.startsWith("Arrow has no memory: ")
                        || message.lines().count() != 1) {
                    throw new AssertionError("not one line of ours: " + message);
                }
            }
            if (root.getAllocatedMemory() != 0) {
                throw new AssertionError(root.getAllocatedMemory() + " bytes are counted");
            }
        }
    }

    private static String failure(BufferAllocator root) {
        try {
            root.buffer(64).close();
        } catch (IllegalStateException e) {
            return String.valueOf(e.getMessage());
        }
        throw new AssertionError("the buffer was allocated");
    }
}
