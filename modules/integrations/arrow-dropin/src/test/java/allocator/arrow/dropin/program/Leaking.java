package allocator.arrow.dropin.program;

import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;

/** Forgets a buffer. */
public final class Leaking {
    private Leaking() {}

    /** Runs it. */
    public static void main(String[] args) {
        final BufferAllocator root = new RootAllocator();
        root.buffer(64).close();
        forget(root);
    }

    private static void forget(BufferAllocator root) {
        root.buffer(1024);
    }
}
