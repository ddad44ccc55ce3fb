package allocator.testkit;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;

/** The Java heap that code allocates. */
public final class HeapUse {
    private HeapUse() {}

    /**
     * Returns how many bytes the calling thread has allocated on the Java heap; only the difference of two calls is of
     * use.
     */
    public static long ofThisThread() {
        return ((ThreadMXBean) ManagementFactory.getThreadMXBean()).getCurrentThreadAllocatedBytes();
    }
}
