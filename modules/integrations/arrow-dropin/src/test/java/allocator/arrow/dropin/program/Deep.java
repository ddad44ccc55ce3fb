package allocator.arrow.dropin.program;

import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;

/** Allocates the first buffer where the stack ends, and again in each frame on the way back. */
public final class Deep {
    private int overflows;
    private int served;
    private Throwable unexpected;

    private Deep() {}

    private void descend(BufferAllocator root) {
        try {
            if (served == 0) {
                descend(root);
            }
        } catch (StackOverflowError e) {
            // The deepest call is where the attempts begin.
        }
        if (served > 0 || unexpected != null) {
            return;
        }
        try {
            root.buffer(1000).close();
            served++;
        } catch (StackOverflowError e) {
            overflows++;
        } catch (Throwable e) {
            unexpected = e;
        }
    }

    /** Runs it. */
    public static void main(String[] args) throws InterruptedException {
        final Deep deep = new Deep();
        // Not closed: Arrow's own accounting does not survive the end of a stack.
        final BufferAllocator root = new RootAllocator();
        final Thread thread = new Thread(null, () -> deep.descend(root), "deep", 1 << 20);
        thread.start();
        thread.join();
        if (deep.unexpected != null) {
            throw new AssertionError("after " + deep.overflows + " ends of the stack", deep.unexpected);
        }
        root.buffer(1000).close();
        System.out.println(deep.overflows + " ends of the stack, served then: " + deep.served);
    }
}
