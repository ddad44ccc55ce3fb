package allocator.testkit;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;

/** The Java heap that code allocates. */
public final class HeapUse {
    private HeapUse() {}

    /** Returns the bytes that the calling thread has allocated on the Java heap; only differences are of use. */
    public static long ofThisThread() {
        return ((ThreadMXBean) ManagementFactory.getThreadMXBean()).getCurrentThreadAllocatedBytes();
    }
}
