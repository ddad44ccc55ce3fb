package allocator.runtime;

import java.lang.reflect.Method;

/** Bytes of Java heap that a thread has allocated. Asked by reflection, so that the module under test reads no more. */
final class HeapUse {
    private HeapUse() {}

    static long ofThisThread() {
        try {
            final Object threads = Class.forName("java.lang.management.ManagementFactory")
                    .getMethod("getThreadMXBean")
                    .invoke(null);
            final Method allocated =
                    Class.forName("com.sun.management.ThreadMXBean").getMethod("getCurrentThreadAllocatedBytes");
            return (long) allocated.invoke(threads);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }
}
