package allocator.trace;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;

/** How much Java heap a piece of code asks for. */
final class HeapUse {
    private HeapUse() {}

    /** Bytes that the calling thread has allocated on the Java heap since it began. */
    static long allocatedByThisThread() {
        return ((ThreadMXBean) ManagementFactory.getThreadMXBean()).getCurrentThreadAllocatedBytes();
    }
}
